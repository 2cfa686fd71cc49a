import fc from 'fast-check';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { migrate } from '../../../src/engine/models/migrate.ts';
import { metaSchema } from '../../../src/engine/models/engine/generations.ts';
import { rebuild } from '../../../src/engine/models/build/rebuild.ts';
import { nodeFacts } from '../../support/histories/facts.ts';
import { type Database, openDatabase, startProjector } from './engine.ts';
import { MemoryLog } from './memory-log.ts';
import { expected } from './small-model.ts';
import { factsOfNodes, small } from './small-projection.ts';
import { eventually } from '../../support/polling.ts';

const a = nodeFacts('a');
const b = nodeFacts('b');
const many = (count: number) => fc.sample(factsOfNodes, { numRuns: count, seed: 7 });

const reaches = (database: Database, position: number) =>
  eventually(async () => expect(await database.live()).toMatchObject({ position, stoppedReason: null }));

const stops = (database: Database, reason: RegExp) =>
  eventually(async () => expect((await database.live())?.stoppedReason).toMatch(reason));

test('runProjector makes the first generation of an empty log live at once, then follows', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  startProjector(database, log);
  await reaches(database, 0);
  await reaches(database, log.append(...many(40)));
  expect(await database.tables()).toEqual(expected(log.facts));
});

test('runProjector goes on from the checkpoint after a restart', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  const first = startProjector(database, log);
  await reaches(database, 0);
  await reaches(database, log.append(...many(25)));
  await first.stop();
  log.append(...many(30));
  startProjector(database, log);
  await reaches(database, 55);
  expect(await database.live()).toMatchObject({ generation: 1, epoch: 2 });
  expect(await database.tables()).toEqual(expected(log.facts));
});

test('runProjector refuses a leader whose lease another one took, and three that race make the tables of one', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  log.batchSize = 3;
  startProjector(database, log);
  await reaches(database, log.append(...many(5)));
  for (let further = 0; further < 2; further++) startProjector(database, log);
  for (const fact of many(200)) {
    log.append(fact);
    await new Promise(setImmediate);
  }
  await eventually(async () => expect((await database.live())?.epoch).toBeGreaterThanOrEqual(3));
  await reaches(database, log.append(...many(5)));
  expect(await database.tables()).toEqual(expected(log.facts));
});

test('runProjector takes over from a leader that keeps its row locked and neither goes on nor ends', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  const first = startProjector(database, log);
  await reaches(database, log.append(...many(5)));
  await first.stop();
  const frozen = new pg.Client({ ...database.config, application_name: 'annals test write' });
  frozen.on('error', () => undefined);
  await frozen.connect();
  await frozen.query('begin');
  await frozen.query(`update ${metaSchema(database.network)}.generations set position = position + 1`);
  startProjector(database, log);
  await reaches(database, log.append(...many(5)));
  await expect(frozen.query('commit')).rejects.toThrow();
  expect(await database.tables()).toEqual(expected(log.facts));
});

test('runProjector waits for a switch that keeps its row locked, and does not end it', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  const first = startProjector(database, log);
  await reaches(database, log.append(...many(5)));
  await first.stop();
  const switching = new pg.Client({ ...database.config, application_name: 'annals test bulk' });
  await switching.connect();
  onTestFinished(() => switching.end());
  await switching.query('begin');
  await switching.query(`update ${metaSchema(database.network)}.generations set switched_at = now()`);
  let looks = 0;
  database.pools.bulk.on('release', () => looks++);
  startProjector(database, log);
  // Twice it looked for a frozen writer, and found none.
  await eventually(() => expect(looks).toBeGreaterThan(1));
  await switching.query('commit');
  await reaches(database, log.append(...many(5)));
  expect(await database.tables()).toEqual(expected(log.facts));
});

test('runProjector goes on while somebody keeps the planner from learning about a table', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  startProjector(database, log);
  await reaches(database, log.append(...many(10)));
  const blocking = new pg.Client(database.config);
  await blocking.connect();
  onTestFinished(() => blocking.end());
  // The lock of VACUUM, ANALYZE and CREATE INDEX CONCURRENTLY: rows may be written.
  await blocking.query(`begin; lock table ${(await database.live())?.schema}.nodes in share update exclusive mode`);
  await reaches(database, log.append(...many(600)));
  await reaches(database, log.append(...many(5)));
  await reaches(database, log.append(...many(5)));
  await blocking.query('commit');
});

test('runProjector stops at an event that cannot be read, with what came before it applied, until a rebuild can read it', async () => {
  const database = await openDatabase();
  const { pools, network } = database;
  const log = new MemoryLog();
  log.poison = 4;
  log.append(...many(3));
  startProjector(database, log);
  await reaches(database, 3);
  log.append(...many(6));
  await stops(database, /Unknown event type/);
  expect(await database.live()).toMatchObject({ position: 3, stoppedAt: expect.stringMatching(/^\d{4}-.*Z$/) });
  expect(await database.tables()).toEqual(expected(log.facts.slice(0, 3)));

  log.poison = undefined;
  await rebuild({ pools, network, source: log, projection: small, signal: new AbortController().signal });
  await reaches(database, log.append(a.listed()));
  expect(await database.tables()).toEqual(expected(log.facts));
});

test('runProjector stops at a fact that its projection refuses, and a start with a better one of a new version goes on', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  const strict = {
    ...small,
    on: {
      ...small.on,
      SuperNodeRemoved: () => {
        throw new Error('nobody removes nodes here');
      },
    },
  };
  const stopped = startProjector(database, log, { projections: [strict] });
  await reaches(database, log.append(a.listed()));
  log.append(b.listed(), a.changed(), a.removed(), b.changed());
  await stops(database, /cannot take fact 4 of NODES: nobody removes nodes here/);
  expect(await database.live()).toMatchObject({ position: 3 });
  await stopped.stop();

  startProjector(database, log, { projections: [{ ...small, version: 2 }] });
  await reaches(database, 5);
  expect(await database.tables()).toEqual(expected(log.facts));
});

test('runProjector names the fact that PostgreSQL cannot store', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  const wrong = { ...small, table: { ...small.table, columns: { ...small.table.columns, account: 'int8' as const } } };
  startProjector(database, log, { projections: [wrong] });
  await reaches(database, 0);
  log.append(
    ...[1, 2, 3].map((n) => nodeFacts(`n${n}`).listed({ account: String(n) })),
    a.listed({ account: 'word' }),
    b.listed(),
  );
  await stops(database, /cannot write fact 4 of NODES: PostgreSQL refused a statement: invalid input syntax/);
  expect(await database.live()).toMatchObject({ position: 3 });
});

test('runProjector stops when the log was created anew, or lost its end, and a replay follows the new one', async () => {
  const database = await openDatabase();
  const { pools, network } = database;
  const log = new MemoryLog();
  const first = startProjector(database, log);
  await reaches(database, log.append(...many(20)));
  await first.stop();

  log.replace(log.incarnation, many(10));
  const second = startProjector(database, log);
  await stops(database, /NODES ends at 10; supernodes had followed it to 20: .* annals repair/);
  await second.stop();

  log.replace('2026-02-02T00:00:00Z', many(30));
  startProjector(database, log);
  await stops(database, /created anew at 2026-02-02T00:00:00Z.* annals replay supernodes/);
  await rebuild({ pools, network, source: log, projection: small, signal: new AbortController().signal });
  await reaches(database, log.append(a.removed()));
  expect(await database.live()).toMatchObject({ incarnation: '2026-02-02T00:00:00Z', generation: 2 });
  expect(await database.tables()).toEqual(expected(log.facts));
});

test('runProjector of a newer version builds the next generation, and one of an older version keeps away from it', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  const old = startProjector(database, log);
  await reaches(database, log.append(...many(20)));
  await old.stop();
  const newer = startProjector(database, log, { projections: [{ ...small, version: 2 }] });
  await eventually(async () => expect(await database.live()).toMatchObject({ generation: 2, version: 2 }));
  await reaches(database, log.append(...many(20)));
  await newer.stop();
  // A leader that ends the moment its first generation is live has raised no epoch yet.
  const before = (await database.live())?.epoch ?? Infinity;
  startProjector(database, log);
  startProjector(database, log, { projections: [{ ...small, version: 2 }] });
  await eventually(async () => expect((await database.live())?.epoch).toBeGreaterThan(before));
  await reaches(database, log.append(...many(20)));
  expect(await database.live()).toMatchObject({ generation: 2, version: 2 });
  expect(await database.tables()).toEqual(expected(log.facts));
});

test('runProjector records why the first generation cannot be built', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  log.poison = 2;
  log.append(...many(5));
  startProjector(database, log);
  await eventually(async () => {
    expect(await database.reader.generations()).toMatchObject([
      { status: 'building', stoppedReason: expect.stringMatching(/Unknown/) },
    ]);
  });
  await expect(database.tables()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('runProjector makes its tables in a database that was made anew, though it never led there', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  log.append(...many(20));
  await database.pools.bulk.query(`drop schema ${metaSchema(database.network)} cascade`);
  let looks = 0;
  database.pools.write.on('release', () => looks++);
  startProjector(database, log);
  await eventually(() => expect(looks).toBeGreaterThan(2));
  await migrate(database);
  await reaches(database, 20);
  expect(await database.tables()).toEqual(expected(log.facts));
});

test('runProjector finds that its database was made anew though no fact comes, and makes its tables again', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  startProjector(database, log);
  await reaches(database, log.append(...many(20)));
  const schemas = [metaSchema(database.network), (await database.live())?.schema];
  await database.pools.bulk.query(`drop schema ${schemas.join(', ')} cascade`);
  await migrate(database);
  await reaches(database, 20);
  expect(await database.tables()).toEqual(expected(log.facts));
});

test('runProjector catches up from the log by itself in a database that went back to an older state', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  startProjector(database, log);
  await reaches(database, log.append(...many(20)));
  await database.pools.bulk.query(`update ${metaSchema(database.network)}.generations set position = 15`);
  await reaches(database, 20);
});

test('runProjector has statements planned anew once tables that were empty have filled', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  startProjector(database, log);
  await reaches(database, 0);
  await reaches(database, log.append(...Array.from({ length: 600 }, (_, n) => nodeFacts(`n${n}`).listed())));
  await eventually(async () => {
    const { rows } = await database.pools.read.query(
      `select relname from pg_stat_user_tables where schemaname = $1 and analyze_count > 0 order by 1`,
      [`annals_${database.network}_supernodes_g1`],
    );
    const names = rows.map(({ relname }: { relname: string }) => relname);
    expect(names).toEqual(['counters', 'nodes', 'nodes_past', 'notes']);
  });
});
