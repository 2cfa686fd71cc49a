import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { type ProbeOptions, probeNode } from '../../src/edges/indexer/probe/probe.ts';
import { type ProbingOptions, runProbing } from '../../src/edges/indexer/probe/rounds.ts';
import { dialInstead, startBlackHole, startNode } from '../../test/edges/indexer/probe/fake-node.ts';
import { nodeFacts } from '../../test/support/histories/facts.ts';
import type { Context } from '../context.ts';
import { connectTo, freshLog } from '../log.ts';
import { type Contender, milliseconds } from '../rounds.ts';
import type { Row } from '../row.ts';
import * as sweepMany from './sweep-many.ts';

const real = 10;
const sample = 8;

/** Probing 200 nodes, every second one of which never answers, until the last outcome is in the log; and many more. */
export function rows(context: Context): readonly Row[] {
  return [
    {
      name: 'sweep',
      unit: 's',
      better: 'lower',
      peerName: `one node after the other, told from ${sample} of them`,
      target: { ours: 8 },
      measure: async () => {
        const count = context.size(200, 20);
        const dial = await startNodes(context);
        return context.inTurn('lower', await together(context, count, dial), () =>
          Promise.resolve(inARow(count, dial)),
        );
      },
    },
    ...sweepMany.rows(context),
  ];
}

type Dialling = Pick<ProbeOptions, 'dial' | 'allowPrivate' | 'allowHostNames'>;

const ipOf = (n: number) => `1.2.${n >> 8}.${n % 256}`;
const isDead = (ip: string) => Number(ip.split('.').at(-1)) % 2 === 1;

/** Real sockets on loopback behind every address: some nodes that answer, and a port that never does. */
async function startNodes(context: Context): Promise<Dialling> {
  const nodes = await Promise.all(Array.from({ length: real }, () => startNode()));
  const hole = await startBlackHole();
  context.defer(() => Promise.all([...nodes, hole].map((one) => one[Symbol.asyncDispose]())));
  const dead = { 4444: hole.port, 4445: hole.port, 8002: hole.port };
  const dial = dialInstead((ip) => {
    const node = nodes[Number(ip.split('.').at(-1)) % real];
    return isDead(ip) || !node ? dead : node.doors;
  });
  return { dial, allowPrivate: false, allowHostNames: false };
}

async function together(context: Context, count: number, how: Dialling): Promise<Contender> {
  const nc = await connectTo(context, 'strict');
  const logger = pino({ level: 'error' }, process.stderr);
  return async () => {
    const { log } = await freshLog(nc);
    const decisions = Array.from({ length: count }, (_, n) => {
      const entity = `node${n}`;
      return {
        kind: 'node',
        entity,
        facts: [nodeFacts(entity).listed({ address: `${ipOf(n)}:4444` })],
        expected: 0,
      } as const;
    });
    await log.append(decisions, { at: new Date().toISOString() });
    const ending = new AbortController();
    const { signal } = ending;
    const leases: ProbingOptions['leases'] = { hold: (_name, held, run) => run({ signal: held }) };
    let probing: Promise<void> | undefined;
    const ms = await milliseconds(async () => {
      probing = runProbing({ ...how, log, leases, intervalMs: 60_000, logger, signal });
      while ((await log.lastOfAll('probe')).size < count) await pause(20, undefined, { signal: context.signal });
    });
    ending.abort();
    await probing;
    return ms / 1000;
  };
}

function inARow(count: number, how: Dialling): Contender {
  const { signal } = new AbortController();
  return async () => {
    const ms = await milliseconds(async () => {
      for (let n = 0; n < sample; n++) await probeNode(`${ipOf(n)}:4444`, { ...how, isServicesDue: true, signal });
    });
    return (ms / 1000 / sample) * count;
  };
}
