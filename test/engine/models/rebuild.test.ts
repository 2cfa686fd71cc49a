import fc from 'fast-check';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { dropRetired } from '../../../src/engine/models/engine/generation-tables.ts';
import type { RebuildProgress } from '../../../src/engine/models/build/load.ts';
import { withClient } from '../../../src/engine/models/pool.ts';
import { rebuild } from '../../../src/engine/models/build/rebuild.ts';
import type { FactSource } from '../../../src/engine/models/engine/source.ts';
import { nodeFacts } from '../../support/histories/facts.ts';
import { type Database, databaseOf, dump, openDatabase, startProjector } from './engine.ts';
import { MemoryLog } from './memory-log.ts';
import { readOn } from './reading-on.ts';
import { expected } from './small-model.ts';
import { factsOfNodes, small } from './small-projection.ts';
import { eventually } from '../../support/polling.ts';

const many = (count: number) => fc.sample(factsOfNodes, { numRuns: count, seed: 11 });

const run = (
  { pools, network }: Database,
  source: FactSource,
  onProgress?: (progress: RebuildProgress) => void,
  signal = new AbortController().signal,
) => rebuild({ pools, network, source, projection: small, signal, ...(onProgress ? { onProgress } : {}) });

const reaches = (database: Database, position: number) =>
  eventually(async () => expect(await database.live()).toMatchObject({ position }));

test('rebuild makes the tables of the live generation anew and tells how far it is', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  startProjector(database, log);
  await reaches(database, log.append(...many(150)));
  // Its leader raises the epoch a moment after the first generation is live.
  await eventually(async () => expect((await database.live())?.epoch).toBe(1));
  const before = await database.tables();
  const progress: RebuildProgress[] = [];
  expect(await run(database, log, (one) => progress.push(one))).toEqual({ generation: 2, position: 150, facts: 150 });
  expect(progress).toEqual([{ done: 150, total: 150, perSecond: expect.any(Number) }]);
  expect(await database.live()).toMatchObject({ generation: 2, position: 150, epoch: 1 });
  expect(await database.tables()).toEqual(before);
});

test('rebuild from another process lets writes and reads go on: no read fails, no position goes back', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  startProjector(database, log);
  await reaches(database, log.append(...many(100)));
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  const seen = new Set<string>();
  const reading = Promise.all([1, 2, 3].map(() => readOn(database, log, { seen, signal: ending.signal })));
  const writing = (async () => {
    while (!ending.signal.aborted) {
      log.append(...many(3));
      await new Promise(setImmediate);
    }
  })();

  const elsewhere = databaseOf(database.config, database.network);
  for (const generation of [2, 3, 4]) {
    expect(await run(elsewhere, log)).toMatchObject({ generation });
    await eventually(() => expect(seen).toContain(`annals_${database.network}_supernodes_g${generation}`));
  }
  ending.abort();
  await writing;
  await reading;
  await reaches(database, log.facts.length);
  expect(await database.tables()).toEqual(expected(log.facts));
});

test('rebuild makes nothing of a log that lacks its end or all that it counts, and readers keep what they have', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  const stopped = startProjector(database, log);
  await reaches(database, log.append(...many(20)));
  await stopped.stop();
  const before = await database.tables();
  const emptied = async () => ({ incarnation: log.incarnation, firstSequence: 21, lastSequence: 20 });
  await expect(run(database, { follow: log.follow, head: emptied })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: 'NODES has lost its events up to 20; annals scrub says more',
  });
  for (const left of [10, 0]) {
    log.replace(log.incarnation, many(left));
    await expect(run(database, log)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: `NODES ends at ${left}, and supernodes shows it to 20: its end comes back first (annals repair)`,
    });
  }
  expect(await database.tables()).toEqual(before);
});

test('rebuild refuses to run twice at once', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  log.append(...many(10));
  let second: unknown;
  const whileItRuns = async () => {
    second ??= await run(database, log).catch((caught: unknown) => caught);
    return log.head();
  };
  await run(database, { follow: log.follow, head: whileItRuns });
  expect(second).toMatchObject({ code: 'CONFLICT' });
  expect(await run(database, log)).toMatchObject({ generation: 2 });
});

test('rebuild finishes its tables over one connection when it gets no other', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  log.append(...many(50));
  const { load } = database.pools;
  load.options.connectionTimeoutMillis = 200;
  const taken = await Promise.all(Array.from({ length: (load.options.max ?? 0) - 1 }, () => load.connect()));
  onTestFinished(() => taken.forEach((client) => client.release()));
  const blocking = new pg.Client(database.config);
  await blocking.connect();
  onTestFinished(() => blocking.end());
  const held: FactSource = {
    head: log.head,
    follow: async function* (...where) {
      for await (const batch of log.follow(...where)) {
        // Rows may be copied, but no key made.
        const table = `annals_${database.network}_supernodes_g1.nodes`;
        await blocking.query(`begin; lock table ${table} in share update exclusive mode`);
        yield batch;
      }
    },
  };
  const running = run(database, held);
  running.catch(() => undefined);
  await eventually(() => expect(load.waitingCount).toBe(1));
  await eventually(() => expect(load.waitingCount).toBe(0));
  await blocking.query('commit');
  expect(await running).toMatchObject({ generation: 1, position: 50 });
});

test('rebuild waits while two others of the process run, and gives up its place when it is cancelled', async () => {
  const database = await openDatabase();
  const { pools, network } = database;
  const log = new MemoryLog();
  log.append(...many(20));
  let running = 0;
  let most = 0;
  const both = Promise.withResolvers<void>();
  const slow: FactSource = {
    follow: log.follow,
    head: async () => {
      most = Math.max(most, ++running);
      if (running === 2) both.resolve();
      await both.promise;
      const head = await log.head();
      running -= 1;
      return head;
    },
  };
  const names = ['actions', 'supernodes', 'validators', 'availability'] as const;
  const ending = new AbortController();
  const build = (name: (typeof names)[number], signal = new AbortController().signal) =>
    rebuild({ pools, network, source: slow, projection: { ...small, name }, signal });
  const builds = names.map((name) => build(name));
  const cancelled = build('supernodes', ending.signal);
  ending.abort();
  await expect(cancelled).rejects.toMatchObject({ code: 'CANCELLED' });
  expect(await Promise.all(builds)).toMatchObject(names.map(() => ({ generation: 1, position: 20 })));
  expect(most).toBe(2);
});

test('rebuild drops what an earlier one left unfinished, and a failed one changes nothing for readers', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  log.append(...many(30));
  await run(database, log);
  const before = await database.tables();
  const ending = new AbortController();
  log.batchSize = 10;
  await expect(run(database, log, () => ending.abort(), ending.signal)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await database.reader.generations()).toMatchObject([
    { status: 'live' },
    { generation: 2, status: 'building' },
  ]);
  expect(await database.tables()).toEqual(before);

  log.poison = 25;
  await expect(run(database, log)).rejects.toMatchObject({ sequence: 25 });
  log.poison = undefined;
  expect(await run(database, log)).toMatchObject({ generation: 2, position: 30 });
  expect(await database.reader.generations()).toMatchObject([{ generation: 2, status: 'live' }]);
  expect(await dump(database.pools, `annals_${database.network}_supernodes_g2`)).toEqual(before);
});

test('rebuild applies up to the live position inside its switch', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  startProjector(database, log);
  await reaches(database, log.append(...many(40)));
  let added = false;
  const racing: FactSource = {
    follow: log.follow,
    // The live projector takes five more facts between the last look at the log and the switch.
    head: async () => {
      const head = await log.head();
      const { rowCount } = await database.pools.read.query(
        `select from pg_indexes where schemaname = 'annals_${database.network}_supernodes_g2' and indexname like 'nodes_account%'`,
      );
      if (rowCount === 1 && !added) {
        added = true;
        await reaches(database, log.append(...many(5)));
      }
      return head;
    },
  };
  expect(await run(database, racing)).toMatchObject({ generation: 2, position: 45 });
  expect(await database.tables()).toEqual(expected(log.facts));
});

test('dropRetired leaves a generation alone that readers may still look at', async () => {
  const database = await openDatabase();
  const { pools, network } = database;
  const log = new MemoryLog();
  log.append(nodeFacts('a').listed());
  await run(database, log);
  await run(database, log);
  const drop = () =>
    withClient(pools.bulk, (client) => dropRetired(client, network, { projection: small.name, keepPrevious: false }));
  const first = `annals_${network}_supernodes_g1`;
  await drop();
  expect((await dump(pools, first)).nodes).toHaveLength(1);

  await pools.bulk.query(
    `update annals_${network}.generations set retired_at = now() - interval '61 seconds' where status = 'retired'`,
  );
  await withClient(pools.read, async (reader) => {
    await reader.query(`begin; select from ${first}.nodes`);
    await expect(drop()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await reader.query('commit');
  });
  await drop();
  await expect(dump(pools, first)).rejects.toMatchObject({ code: '42P01' });
  expect(await database.tables()).toEqual(expected(log.facts));
});

test('rebuild has the planner learn about the columns that rows are looked for by, and no others', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  log.append(...many(60));
  await run(database, log);
  const { rows } = await database.pools.read.query(
    'select attname from pg_stats where schemaname = $1 and tablename = $2 order by 1',
    [(await database.live())?.schema, small.table.name],
  );
  expect(rows).toEqual([{ attname: 'account' }, { attname: 'id' }]);
});
