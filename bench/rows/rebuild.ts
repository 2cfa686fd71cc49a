import { rebuild } from '../../src/engine/models/build/rebuild.ts';
import { actions } from '../../src/projections/actions/actions.ts';
import type { AnyProjection } from '../../src/projections/all.ts';
import { availability } from '../../src/projections/fleet/availability.ts';
import { once, type Context } from '../context.ts';
import { openDatabase } from '../database.ts';
import { appendActions, appendProbes, connectTo, freshLog, probeOf } from '../log.ts';
import { resultOf } from '../programs.ts';
import type { LateLog, LateRebuild } from '../rebuilds/late.ts';
import { type Contender, median } from '../rounds.ts';
import type { Row } from '../row.ts';
import { openEmmett, openPonder } from '../systems.ts';

const nodes = 500;
const emmettEach = 12;

/** Building a read model anew from the first event on until readers are switched to it. */
export function rows(context: Context): readonly Row[] {
  const events = context.size(60_000, 3_000);
  const counted = context.size(22_000, 1_000);
  const shape = { unit: 'events/s', better: 'higher' } as const;
  const probes = once(() => filled(context, availability, (log) => appendProbes(log, { nodes, events })));
  const lives = once(() => filled(context, actions, (log) => appendActions(log, { from: 1, count: counted })));
  return [
    {
      ...shape,
      name: 'rebuild',
      peerName: 'ponder 0.16.10, events cached, as many into as many rows',
      target: { ours: 80_000, ratio: 1.25 },
      measure: async () =>
        context.inTurn('higher', await probes(), () => ponder(context, { events, rows: nodes, kind: 'probes' })),
    },
    {
      ...shape,
      name: 'rebuild-emmett',
      peerName: 'emmett-postgresql 0.42.0, rebuildPostgreSQLProjections, batches of 1000',
      target: { ratio: 40 },
      measure: async () => context.inTurn('higher', await probes(), () => emmett(context)),
    },
    {
      ...shape,
      name: 'rebuild-actions',
      peerName: 'ponder 0.16.10, events cached, the same four kinds of tables and counters, unverified',
      target: { ratio: 1.25 },
      measure: async () =>
        context.inTurn('higher', await lives(), () => ponder(context, { events, rows: events / 3, kind: 'steps' })),
    },
    ...lateRows(context),
  ];
}

/** A log four times as long, each action of which is finalized as many registrations later as in a quarter of it. */
function lateRows(context: Context): readonly Row[] {
  const longest = context.actions ?? context.size(2_000_000, 8_000);
  const actionsOf = { quarter: longest / 4, whole: longest };
  const measured = once(async () => {
    const { config } = await context.postgres();
    const took = { quarter: [] as LateRebuild[], whole: [] as LateRebuild[] };
    for (let round = 1; round <= context.rounds; round += 1)
      for (const size of ['quarter', 'whole'] as const) {
        const log: LateLog = {
          config,
          network: `late_${size}_${round}`,
          actions: actionsOf[size],
          later: longest / 10,
        };
        const one = await resultOf<LateRebuild>(context, 'rebuilds/late.ts', [JSON.stringify(log)]);
        took[size].push(one);
        context.say(
          `  ${size}: ${one.seconds.toFixed(1)} s, ${one.residentMiB.toFixed(0)} MiB, ${one.reads.toFixed(2)} reads of each fact`,
        );
      }
    return (of: (one: LateRebuild) => number) => ({
      quarter: median(took.quarter.map(of)),
      whole: median(took.whole.map(of)),
    });
  });
  const shape = { better: 'lower', isLong: true } as const;
  return [
    {
      ...shape,
      name: 'rebuild-late',
      unit: 's',
      peerName: 'four times as long as a quarter of the log takes',
      target: { ratio: 0.87 },
      measure: async () => {
        const { quarter, whole } = (await measured())(({ seconds }) => seconds);
        return { ours: whole, peer: 4 * quarter, ratio: (4 * quarter) / whole };
      },
    },
    {
      ...shape,
      name: 'rebuild-late-memory',
      unit: 'MiB',
      peerName: 'a quarter of the log',
      target: { ratio: 0.84 },
      measure: async () => {
        const { quarter, whole } = (await measured())(({ residentMiB }) => residentMiB);
        return { ours: whole, peer: quarter, ratio: quarter / whole };
      },
    },
    {
      ...shape,
      name: 'rebuild-late-reads',
      unit: 'reads of each fact',
      peerName: null,
      target: { ours: 2.2 },
      measure: async () => ({ ours: (await measured())(({ reads }) => reads).whole, peer: null, ratio: null }),
    },
  ];
}

type Fill = (log: Awaited<ReturnType<typeof freshLog>>['log']) => Promise<void>;

async function filled(context: Context, projection: AnyProjection, fill: Fill): Promise<Contender> {
  const { log, network } = await freshLog(await connectTo(context, 'relaxed'));
  await fill(log);
  const database = await openDatabase(context, network);
  return async () => {
    const started = performance.now();
    const { facts } = await rebuild({ ...database, source: log, projection, signal: context.signal });
    return facts / ((performance.now() - started) / 1000);
  };
}

async function emmett(context: Context): Promise<Contender> {
  const peer = await openEmmett(context);
  const streams = Array.from({ length: context.size(nodes, 100) }, (_, n) => `node${n}`);
  const facts = Array.from({ length: emmettEach }, (_, event) => probeOf('node', event));
  await peer.ask('seed', { streams, facts });
  return () => peer.ask('rebuild', { events: streams.length * facts.length });
}

type Indexed = Readonly<{ events: number; rows: number; kind: 'probes' | 'steps' }>;

async function ponder(context: Context, indexed: Indexed): Promise<Contender> {
  const peer = await openPonder(context);
  return () => peer.ask('rebuild', indexed);
}
