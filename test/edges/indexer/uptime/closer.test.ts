import { describe, expect, it, onTestFinished } from 'vitest';
import { percentilesOf } from '../../../../src/commands/uptime/sketch.ts';
import { closeBefore, runClosing } from '../../../../src/edges/indexer/uptime/closer.ts';
import { createLeases } from '../../../../src/engine/log/leases.ts';
import type { Log } from '../../../../src/engine/log/log.ts';
import { rebuild } from '../../../../src/engine/models/build/rebuild.ts';
import type { Fact } from '../../../../src/events/catalogue.ts';
import { projections } from '../../../../src/projections/all.ts';
import { nodeFacts } from '../../../support/histories/facts.ts';
import { until } from '../../../support/polling.ts';
import { runScript } from '../../../support/programs/processes.ts';
import { testNats } from '../../../support/programs/servers.ts';
import { seeded, simulatedProbes } from '../../../support/histories/simulated-probes.ts';
import { type ExportedProbe, trueDays, trueShare } from '../../../support/expected/uptime-truth.ts';
import { cause, everything, freshLog, thinOut } from '../../../engine/log/fresh-log.ts';
import { type Database, openDatabase, silent, startProjector } from '../../../engine/models/engine.ts';
import { asRecord, asRecords, type RestServer, startRest } from '../rest/rest-server.ts';

const dayMs = 86_400_000;
const start = Date.UTC(2026, 9, 1);
const dayText = (day: number): string => new Date(start + day * dayMs).toISOString().slice(0, 10);
const nodeName = (index: number): string => `node${String(index).padStart(2, '0')}`;

const closingOf = (log: Log, signal = new AbortController().signal) => ({
  log,
  tree: async () => ({ size: 1_000_000, root: 'cm9vdA==' }),
  clock: () => start + 40 * dayMs,
  logger: silent,
  signal,
});

/** Appends the probes of one node in their order. */
async function append(log: Log, node: string, facts: readonly Fact[]): Promise<void> {
  for (let from = 0, expected = 0; from < facts.length; from += 1000) {
    const decision = { kind: 'probe', entity: node, facts: facts.slice(from, from + 1000), expected } as const;
    expected = (await log.append([decision], cause)).sequence;
  }
}

/** All probes of the log, as an export has them. */
async function exported(log: Log): Promise<ExportedProbe[]> {
  return (await everything(log, 'PROBES')).flatMap(({ fact }) => {
    if (fact.type !== 'ProbeSucceeded' && fact.type !== 'ProbeFailed') return [];
    const { node, at, ports, tookMs, everySeconds = 60 } = fact.data;
    return [{ node, at, ports, tookMs, everySeconds, passed: fact.type === 'ProbeSucceeded' }];
  });
}

const daysIn = async (log: Log): Promise<Fact<'NodeDayClosed'>['data'][]> =>
  (await everything(log, 'UPTIME')).flatMap(({ fact }) => (fact.type === 'NodeDayClosed' ? [fact.data] : []));

/** An API over read models that follow a log. */
async function readModels(network: string, log: Log): Promise<{ database: Database; rest: RestServer }> {
  const database = { ...(await openDatabase()), network };
  const { migrate } = await import('../../../../src/engine/models/migrate.ts');
  const { databaseOf } = await import('../../../engine/models/engine.ts');
  const own = databaseOf(database.config, network);
  await migrate(own);
  startProjector(own, log, { projections });
  const rest = await startRest([], { reader: { ...own.reader, generations: async () => [] } });
  onTestFinished(rest.close);
  return { database: own, rest };
}

const reaches = async ({ reader }: Database, log: Log): Promise<void> => {
  const { lastSequence } = await log.head('UPTIME');
  const { lastSequence: probes } = await log.head('PROBES');
  const { lastSequence: nodes } = await log.head('NODES');
  await until('the read models have followed', async () =>
    reader
      .read(
        async ({ followed }) =>
          [followed.uptime_days, followed.incidents].every(({ sequence }) => sequence >= lastSequence) &&
          [followed.uptime_open, followed.availability].every(({ sequence }) => sequence >= probes) &&
          // Of those that it has no position for, the first generation is there.
          [followed.rounds, followed.validators].every((one) => one !== undefined) &&
          followed.supernodes.sequence >= nodes,
      )
      .catch(() => false),
  );
};

describe('the closing of days', () => {
  it(
    'gives 50 nodes and 30 days as an independent count of the exported probes does, through a kill, a race and the loss of the probes',
    { timeout: 240_000 },
    async () => {
      const { nc, network, log } = await freshLog();
      const random = seeded(20);
      const nodes = Array.from({ length: 50 }, (_, index) => nodeName(index));
      const isStopped = (ms: number) => ms > start + 3.2 * dayMs && ms < start + 3.7 * dayMs;
      const isCut = (ms: number) => ms > start + 11.4 * dayMs && ms < start + 11.6 * dayMs;
      for (const node of nodes) {
        const how = { node, from: start, to: start + 30 * dayMs + 3_600_000, everySeconds: 3600, random };
        const facts = simulatedProbes({ ...how, isProbing: (ms) => !isStopped(ms), isConnected: (ms) => !isCut(ms) });
        await append(log, node, facts);
      }
      const listed = nodes.map(
        (node) => ({ kind: 'node', entity: node, facts: [nodeFacts(node).listed()], expected: 0 }) as const,
      );
      await log.append(listed, cause);

      const { url, user, pass } = testNats();
      const script = new URL('closing-process.ts', import.meta.url);
      const killed = runScript(script, [url, user, pass, network, dayText(12)]);
      for (let closed = 0; closed < 10; closed++) await killed.nextLine();
      killed.child.kill('SIGKILL');
      await killed.ended;
      expect((await daysIn(log)).length).toBeLessThan(50 * 12);
      await Promise.all([closeBefore(dayText(12), closingOf(log)), closeBefore(dayText(12), closingOf(log))]);
      await closeBefore(dayText(30), closingOf(log));
      await closeBefore(dayText(30), closingOf(log));

      const days = await daysIn(log);
      const probes = await exported(log);
      const truth = trueDays(probes, start / 1000, start / 1000 + 30 * 86_400);
      expect(days).toHaveLength(50 * 30);
      expect(new Set(days.map(({ node, day }) => `${node} ${day}`)).size).toBe(50 * 30);
      for (const { node, day, up, down, unknown, took } of days) {
        const known = truth.get(`${node} ${day}`);
        expect({ node, day, up, down, unknown }).toEqual({
          node,
          day,
          up: known?.up,
          down: known?.down,
          unknown: known?.unknown,
        });
        const [median = 0, tail = 0] = percentilesOf(took ? [took] : [], [0.5, 0.99]) ?? [];
        for (const [estimate, share] of [
          [median, 0.5],
          [tail, 0.99],
        ] as const) {
          const exact = trueShare(known?.took ?? [], share);
          expect(Math.abs(estimate - exact)).toBeLessThanOrEqual(0.0201 * exact);
        }
      }
      expect(days.some(({ unknown }) => unknown > 30_000)).toBe(true);

      const { database, rest } = await readModels(network, log);
      await reaches(database, log);
      const node = nodeName(7);
      const path = `/v1/supernodes/${node}/availability?from=${dayText(0)}T00:00:00Z&to=${dayText(30)}T00:00:00Z`;
      const { body } = await rest.get(path);
      const own = [...truth].filter(([key]) => key.startsWith(`${node} `)).map(([, one]) => one);
      const sum = (of: 'up' | 'down' | 'unknown') => own.reduce((total, one) => total + one[of], 0);
      expect(body).toMatchObject({
        up_seconds: sum('up'),
        down_seconds: sum('down'),
        unknown_seconds: sum('unknown'),
        availability: sum('up') / (sum('up') + sum('down')),
      });
      const took = own.flatMap((one) => one.took).toSorted((a, b) => a - b);
      for (const [name, share] of [
        ['p50', 0.5],
        ['p90', 0.9],
        ['p99', 0.99],
      ] as const) {
        const exact = trueShare(took, share);
        expect(Math.abs(Number(asRecord(body.response_ms)[name]) - exact)).toBeLessThanOrEqual(0.0201 * exact);
      }
      expect(asRecords(body.periods)).toHaveLength(30);

      const before = await Promise.all(
        [path, '/v1/supernodes/availability?window=31d&limit=200', '/v1/incidents?limit=200'].map(
          async (one) => (await rest.get(one)).text,
        ),
      );
      await thinOut(nc, network, 'PROBES');
      for (const projection of projections.filter(({ stream }) => stream === 'UPTIME' || stream === 'PROBES'))
        await rebuild({
          pools: database.pools,
          network,
          source: log,
          projection,
          signal: new AbortController().signal,
        });
      await closeBefore(dayText(30), closingOf(log));
      const after = await Promise.all(
        [path, '/v1/supernodes/availability?window=31d&limit=200', '/v1/incidents?limit=200'].map(
          async (one) => (await rest.get(one)).text,
        ),
      );
      expect(after).toEqual(before);
      expect(await daysIn(log)).toEqual(days);
    },
  );

  it('happens an hour after midnight, under a lease, and catches up with what was missed', async () => {
    const { nc, network, log } = await freshLog();
    await append(
      log,
      'a',
      simulatedProbes({ node: 'a', from: start, to: start + 2.5 * dayMs, everySeconds: 900, random: seeded(1) }),
    );
    let now = start + dayMs + 3_599_000;
    const ending = new AbortController();
    const leases = createLeases(nc, network);
    const passes: string[] = [];
    const watched: Log = {
      ...log,
      lastOfAll: async (kind) => {
        passes.push(kind);
        return await log.lastOfAll(kind);
      },
    };
    const run = () => runClosing({ ...closingOf(watched, ending.signal), leases, clock: () => now });
    const first = run();
    await until('a pass was made', () => passes.length >= 2);
    expect(await daysIn(log)).toEqual([]);
    ending.abort();
    await first;
    now += 1000;
    const again = new AbortController();
    const second = runClosing({ ...closingOf(log, again.signal), leases, clock: () => now });
    await until('the first day is closed', async () => (await daysIn(log)).length === 1);
    again.abort();
    await second;
    await closeBefore(dayText(2), closingOf(log));
    expect((await daysIn(log)).map(({ day, tree }) => [day, tree?.size])).toEqual([
      [dayText(0), 1_000_000],
      [dayText(1), 1_000_000],
    ]);
  });
});
