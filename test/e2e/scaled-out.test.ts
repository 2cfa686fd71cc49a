import { jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Recorded } from '../../src/commands/ports.ts';
import { connectNats } from '../../src/engine/log/connection.ts';
import { leaseMs, renewalsPerLease } from '../../src/engine/log/leases.ts';
import { streams } from '../../src/events/streams.ts';
import { type ChainStub, startChainStub } from '../support/chains/chain-stub.ts';
import { GrowingChain } from '../support/chains/growing-chain.ts';
import { watchLeases } from '../support/kills/lease-watch.ts';
import { type NatsCluster, startNatsCluster } from '../support/programs/nats-cluster.ts';
import { until } from '../support/polling.ts';
import { type Polled, type Pollers, startPollers } from '../support/callers/pollers.ts';
import { dataFolder, startProgram } from '../support/programs/program.ts';
import { openProgramLog, type ProgramLog, untilFollowed } from '../support/programs/program-log.ts';
import { seeded } from '../support/histories/random-history.ts';
import { trueList } from '../support/expected/true-answers.ts';
import {
  allActions,
  answersOf,
  byLease,
  figure,
  holdLeases,
  indexerLeases,
  majors,
  openStores,
  projectorLeases,
  type Replica,
  startReplica,
  type Stores,
  untilHolds,
} from './scaled-out-rig.ts';
import { readByTokens } from './token-reads.ts';

/** Reads by tokens; a longer run says more. */
const tokenReads = Number(process.env['TOKEN_READS'] ?? 300);
const blockEachMs = 600;
const blocksBefore = 40;
const readPaths = ['/v1/actions?limit=20&include_transactions=true', '/v1/actions/1', '/v1/supernodes/action-stats'];
const sources = ['actions', 'supernodes', 'validators'];

let cluster: NatsCluster;
beforeAll(async () => (cluster = await startNatsCluster()));
afterAll(() => cluster?.stop());

describe.each(majors)('two indexers and two projectors on three nats-servers and PostgreSQL %i', (major) => {
  let stores: Stores;
  let stub: ChainStub;
  let log: ProgramLog;
  let indexers: Replica[];
  let projectors: Replica[];
  let pollers: Pollers[];
  let growing: GrowingChain;
  let growth: NodeJS.Timeout;
  let freeze: () => Promise<void> = async () => undefined;

  beforeAll(async () => {
    stores = await openStores(cluster, major);
    stub = await startChainStub();
    growing = new GrowingChain(stub.chain, seeded(major));
    for (let block = 0; block < blocksBefore; block++) growing.grow();
    keepGrowing();
    const roles = ['indexer', 'indexer', 'projector', 'projector'];
    const started = await Promise.all(roles.map((role) => startReplica(stores, role, stub.url)));
    [indexers, projectors] = [started.slice(0, 2), started.slice(2)];
    await Promise.all(started.map(({ program }) => program.untilReady()));
    log = await openProgramLog({ nats: { url: cluster.url }, network: stores.network });
    await untilRead();
    pollers = indexers.map(({ program }) => startPollers(program.base, new Map(readPaths.map((path) => [path, 200]))));
  });
  afterAll(async () => {
    clearInterval(growth);
    await freeze();
    await log?.close();
    await Promise.all([...(indexers ?? []), ...(projectors ?? [])].map(({ program }) => program.stop()));
    await stub?.stop();
    await stores?.close();
  });

  const keepGrowing = (): void => void (growth = setInterval(() => growing.grow(), blockEachMs));

  /** Everything that happened on the chain so far is in the log and in the read models. */
  const untilRead = async (readers: readonly Replica[] = indexers): Promise<void> => {
    const { height } = stub.chain;
    await until(`every source has been read to ${height}`, async () => {
      const last = [...(await log.last('sync', sources)).values()].map(({ fact }) => fact);
      return last.filter((fact) => fact.type === 'SyncRoundCompleted' && fact.data.height >= height).length === 3;
    });
    await until('the read models have followed', async () => {
      for (const { program } of readers) await untilFollowed(program.base, log);
      return true;
    });
  };

  test('a projector that comes back after its lease was taken is refused by its epoch, and counts it', async ({
    annotate,
  }) => {
    const [deposed, next] = await byLease(projectors, 'projection.actions');
    const bytes = await deposed.postgres.holdFrom('checkpoint.');
    process.kill(deposed.program.pid, 'SIGSTOP');
    await untilHolds(next, projectorLeases);
    await untilRead();
    const answers = deposed.postgres.release();
    process.kill(deposed.program.pid, 'SIGCONT');
    const refused = async (): Promise<number> => {
      const each = projectorLeases.map((lease) => lease.replace('projection.', ''));
      const figures = each.map((name) => figure(deposed, `annals_batches_refused_total{projection="${name}"}`));
      return (await Promise.all(figures)).reduce<number>((sum, one) => sum + (one ?? 0), 0);
    };
    await until('the deposed one has counted a refusal', async () => (await refused()) > 0);
    expect(bytes).toContain(`checkpoint.${stores.network}`);
    const counted = await refused();
    expect(tags(answers(), 'UPDATE 0')).toBeGreaterThanOrEqual(counted);
    expect(tags(answers(), 'UPDATE 1')).toBe(0);
    await annotate(`refused batches: ${counted}`);
  });

  // What the broker alone decides is the same whatever PostgreSQL lies beside it.
  if (major === majors[0]) {
    const timeout = 300_000 + tokenReads * 50;
    test(
      'a token is answered by no replica from before it, while one after the other stalls',
      { timeout },
      async ({ annotate }) => {
        const third = await startReplica(stores, 'indexer', stub.url);
        await third.program.untilReady();
        const replicas = [...indexers, third];
        const { complaints, ...seen } = await readByTokens({ replicas, projectors, log, count: tokenReads });
        await annotate(JSON.stringify(seen));
        await third.program.stop();
        expect(complaints).toEqual([]);
      },
    );

    test('every stream and bucket has three copies', async () => {
      const connection = await connectNats({ url: cluster.url, name: 'test' });
      const manager = await jetstreamManager(connection);
      const copies = new Map<string, number>();
      for await (const { config } of manager.streams.list())
        if (config.name.endsWith(stores.network)) copies.set(config.name, config.num_replicas);
      await connection.close();
      expect([...copies.values()]).toEqual([...copies].map(() => 3));
      // Leases, secrets and checkpoints lie in a bucket each.
      expect(copies.size).toBe(streams.length + 3);
    });

    test('an indexer that comes back after its lease was taken is refused by the expected sequence', async ({
      annotate,
      onTestFinished,
    }) => {
      const { network } = stores;
      // Nobody probes a node that has left, so none may leave while all are waited for.
      clearInterval(growth);
      onTestFinished(keepGrowing);
      await untilRead();
      const listed = [...stub.chain.supernodes.values()].map((node) => String(node['validator_address']));
      const [deposed, next] = await byLease(indexers, 'sync');
      const refused = async (): Promise<number> => {
        const figures = streams.map((stream) => figure(deposed, `annals_appends_refused_total{stream="${stream}"}`));
        return (await Promise.all(figures)).reduce<number>((sum, one) => sum + (one ?? 0), 0);
      };
      const refusedBefore = await refused();
      const bytes = await deposed.nats.holdFrom(`HPUB evt.sync.${network}.actions `);
      process.kill(deposed.program.pid, 'SIGSTOP');
      const before = await log.last('probe', listed);
      const rounds = await log.last('sync', sources);
      await untilHolds(next, indexerLeases);
      await until('the other one has written about all of it', async () => {
        const isLater = (old: ReadonlyMap<string, Recorded>, now: ReadonlyMap<string, Recorded>): boolean =>
          [...old].every(([entity, { sequence }]) => (now.get(entity)?.sequence ?? 0) > sequence);
        return isLater(before, await log.last('probe', listed)) && isLater(rounds, await log.last('sync', sources));
      });
      const answers = deposed.nats.release();
      process.kill(deposed.program.pid, 'SIGCONT');
      const refusals = (): number => (answers().match(/"err_code":10071/g) ?? []).length;
      await until('what was kept back has been refused', async () => refusals() > 0);
      await untilRead();
      expect(bytes).toContain('Nats-Expected-Last-Subject-Sequence');
      const acknowledged = new RegExp(`\\{"stream":"(${streams.join('|')})_${network}", ?"seq":`, 'g');
      expect(answers().match(acknowledged)).toBeNull();
      const counted = (await refused()) - refusedBefore;
      await annotate(`refused appends: ${refusals()} by the broker's answers, ${counted} by its own count`);
    });

    test('the kill of a nats-server that leads a stream loses nothing that was acknowledged', async () => {
      const before = await factsNow(log);
      const node = await cluster.leaderOf(`ACTIONS_${stores.network}`);
      await node.kill();
      await untilRead();
      node.start();
      await cluster.untilWhole();
      await untilRead();
      const after = await factsNow(log);
      expect(after.map((facts, n) => facts.slice(0, before[n]?.length))).toEqual(before);
      const written = ['ACTIONS', 'NODES', 'PROBES', 'SYNC'];
      const grown = streams.filter((_, n) => (after[n]?.length ?? 0) > (before[n]?.length ?? 0));
      expect(grown).toEqual(expect.arrayContaining(written));
    });

    test('the kill of the leading projector and indexer hands everything over within two lease times, and readers see no error', async ({
      annotate,
      onTestFinished,
    }) => {
      const connection = await connectNats({ url: cluster.url, name: 'test' });
      onTestFinished(() => connection.close());
      const watch = await watchLeases(connection, stores.network);
      for (const [pair, lease, leases, clock] of [
        [projectors, 'projection.actions', projectorLeases, 'sync'],
        [indexers, 'sync', indexerLeases, 'projection.actions'],
      ] as const) {
        const [doomed, heir] = await byLease(pair, lease);
        const at = pair.indexOf(doomed);
        if (pair === indexers) expectNoComplaint(await (pollers[at] as Pollers).stop());
        const rounds = await log.head('SYNC');
        await watch.seen(lease);
        await doomed.program.kill();
        await untilHolds(heir, leases);
        const renewals = await watch.renewalsUntilTaken(lease, clock);
        await annotate(`${lease} was taken after ${renewals} renewals of ${clock}`);
        expect(renewals).toBeGreaterThan(0);
        expect(renewals, 'within two lease times').toBeLessThanOrEqual(2 * renewalsPerLease);
        await untilRead(pair === indexers ? [heir] : indexers);
        if (pair === indexers)
          await annotate(`sync stood still for ${await gap(log, rounds.lastSequence)} lease times`);
        pair[at] = await startReplica(stores, pair === indexers ? 'indexer' : 'projector', stub.url);
        await pair[at]?.program.untilReady();
      }
      for (const one of pollers) expectNoComplaint(await one.stop());
    });
  }

  test('every replica answers the same, as does a single process that reads the log anew', async () => {
    clearInterval(growth);
    await untilRead();
    await Promise.all(indexers.map(({ program }) => program.stop()));
    freeze = await holdLeases(stores, indexerLeases);
    indexers = await Promise.all(indexers.map(() => startReplica(stores, 'indexer', stub.url)));
    const [first] = indexers as [Replica];
    const answers: ReadonlyMap<string, string>[] = [];
    for (const { program } of indexers) {
      await untilFollowed(program.base, log);
      answers.push(await answersOf(program.base));
    }
    expect(await allActions(first.program.base)).toEqual(trueList(stub.chain));

    await Promise.all([...indexers, ...projectors].map(({ program }) => program.stop()));
    const single = await startProgram({
      dataDir: dataFolder(),
      network: stores.network,
      env: { NATS_URL: cluster.url, CHAIN_API_BASE: stub.url },
    });
    await until('the single process has read the log', async () => {
      await untilFollowed(single.base, log);
      return true;
    });
    answers.push(await answersOf(single.base));
    const [one, ...others] = answers;
    expect(one?.size).toBeGreaterThan(20);
    for (const other of others) expect(Object.fromEntries(other)).toEqual(Object.fromEntries(one ?? []));
    await single.stop();
  });
});

/** How often PostgreSQL ended a statement with this tag. */
const tags = (answers: string, tag: string): number => answers.split(`${tag}\0`).length - 1;

const factsNow = (log: ProgramLog): Promise<(readonly Recorded[])[]> =>
  Promise.all(streams.map((stream) => log.factsOf(stream)));

function expectNoComplaint(polled: readonly Polled[]): void {
  const complaints = polled.flatMap(({ path, complaints: own }) => own.map((complaint) => `${path}: ${complaint}`));
  expect(complaints.join('\n')).toBe('');
  for (const { path, answers } of polled) expect(answers, path).toBeGreaterThan(0);
}

/** The longest time between two facts of sync after a sequence, in lease times. */
async function gap(log: ProgramLog, after: number): Promise<string> {
  const times = (await log.factsOf('SYNC', Math.max(after - 1, 0))).map(({ time }) => Date.parse(time));
  const gaps = times.slice(1).map((time, n) => time - (times[n] ?? time));
  return (Math.max(...gaps) / leaseMs).toFixed(2);
}
