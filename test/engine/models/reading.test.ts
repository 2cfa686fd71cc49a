import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { onDamage } from '../../../src/engine/models/pool.ts';
import { createReader } from '../../../src/engine/models/read/reading.ts';
import { nodeFacts } from '../../support/histories/facts.ts';
import { countTrips, tripsOfTransaction, databaseOf, openDatabase } from './engine.ts';
import { countOfNodes, withOneNode } from './reading-on.ts';
import { eventually } from '../../support/polling.ts';

test('read fails with UNAVAILABLE for a projection that was never built, and only for that', async () => {
  const { reader, network } = await withOneNode();
  await expect(reader.read(async ({ schemas }) => schemas.actions)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringMatching(/Projection actions is being built/),
  });
  expect(await reader.read(async ({ schemas, followed }) => [schemas.supernodes, followed.supernodes])).toEqual([
    `annals_${network}_supernodes_g1`,
    { stream: 'NODES', incarnation: '2026-01-01T00:00:00Z', sequence: 1 },
  ]);
});

test('read fails with UNAVAILABLE for tables of another version than the program reads, and says which', async () => {
  const { pools, network } = await withOneNode();
  const readBy = (version: number) =>
    createReader({ pools, network, projections: [{ name: 'supernodes', version }] }).read(
      async ({ schemas }) => schemas.supernodes,
    );
  expect(await readBy(1)).toBe(`annals_${network}_supernodes_g1`);
  await expect(readBy(2)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringMatching(/anew for version 2/),
  });
  await expect(readBy(0)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringMatching(/version 1 by now/),
  });
});

test('read fails with UNAVAILABLE while the tables, or the whole database, are being made', async () => {
  const { config, network } = await openDatabase();
  for (const database of [databaseOf(config, 'elsewhere'), databaseOf({ ...config, database: 'nothing' }, network)])
    await expect(database.reader.read(async () => 1)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('read sees one instant, whatever is written meanwhile', async () => {
  const { reader, log, live } = await withOneNode();
  const look = async (isMoving: boolean) =>
    await reader.read(async ({ db, schemas, followed }) => {
      const nodes = sql<{ position: number }>`${sql.id(schemas.supernodes, 'nodes')}`.as('nodes');
      const position = db.selectFrom(nodes).select('position');
      const seen = [followed.supernodes.sequence];
      for (const row of await position.execute()) seen.push(row.position);
      if (isMoving) {
        log.append(nodeFacts('a').changed({ note: 'meanwhile' }));
        await eventually(async () => expect(await live()).toMatchObject({ position: 2 }));
      }
      for (const row of await position.execute()) seen.push(row.position);
      return seen;
    });
  expect(await look(false)).toEqual([1, 1, 1]);
  expect(await look(true)).toEqual([1, 1, 1]);
  expect(await look(false)).toEqual([2, 2, 2]);
});

test('read makes generations anew only where they have moved: what each made would be collected late', async () => {
  const { reader, log, live } = await withOneNode();
  const look = async () =>
    await reader.read(async ({ db, schemas, followed }) => {
      await countOfNodes(schemas.supernodes).execute(db);
      return followed.supernodes;
    });
  const first = await look();
  expect(await look()).toBe(first);
  log.append(nodeFacts('a').changed({ note: 'again' }));
  await eventually(async () => expect(await live()).toMatchObject({ position: 2 }));
  const next = await look();
  expect(next).toEqual({ ...first, sequence: 2 });
  expect(await look()).toBe(next);
});

test('read gives numbers, exact decimals and parsed JSON, and answers queries that are made at once', async () => {
  const { reader } = await withOneNode();
  const answers = await reader.read(({ db, schemas }) =>
    Promise.all([
      countOfNodes(schemas.supernodes)
        .execute(db)
        .then(({ rows }) => rows),
      sql`select ${'5'}::int8 as n, 1.50::numeric as d, '{"a":[1]}'::jsonb as j, '2026-01-01T00:00:00Z'::timestamptz is not null as t`
        .execute(db)
        .then(({ rows }) => rows),
    ]),
  );
  expect(answers).toEqual([[{ n: 1 }], [{ n: 5, d: '1.50', j: { a: [1] }, t: true }]]);
});

test('read fails with what the caller threw, and writes nothing', async () => {
  const { reader } = await withOneNode();
  await expect(reader.read(() => Promise.reject(new RangeError('mine')))).rejects.toThrow(RangeError);
  for (const _ of ['held', 'guessed'])
    await expect(reader.read(({ db, schemas }) => sql`select ${schemas} as n`.execute(db))).rejects.toThrow(TypeError);
  await expect(
    reader.read(({ db, schemas }) => sql`delete from ${sql.id(schemas.supernodes, 'counters')}`.execute(db)),
  ).rejects.toThrow(/PostgreSQL|read-only/);
  const { rows } = await reader.read(({ db, schemas }) =>
    sql`select n from ${sql.id(schemas.supernodes, 'counters')}`.execute(db),
  );
  expect(rows).toHaveLength(3);
});

test('read cuts a query off that takes too long', async () => {
  const { reader, pools } = await withOneNode();
  await expect(
    reader.read(async ({ db }) => {
      await Promise.all([sql`set local statement_timeout = 50`.execute(db), sql`select pg_sleep(30)`.execute(db)]);
    }),
  ).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await pools.read.query('show statement_timeout')).toMatchObject({ rows: [{ statement_timeout: '5s' }] });
});

test('read reports an answer that shows damage of the database to whoever listens', async () => {
  const { reader, pools } = await withOneNode();
  await pools.bulk.query(`create function public.torn() returns int language plpgsql as
    $$ begin raise exception 'invalid page in block 7' using errcode = 'data_corrupted'; end $$`);
  const seen: string[] = [];
  const stop = onDamage(pools, ({ message }) => seen.push(message));
  const look = () => reader.read(({ db }) => sql`select public.torn()`.execute(db));
  for (const _ of ['held', 'guessed']) await expect(look()).rejects.toThrow('invalid page');
  expect(seen).toEqual(['invalid page in block 7', 'invalid page in block 7']);
  stop();
  await expect(look()).rejects.toThrow('invalid page');
  expect(seen).toHaveLength(2);
});

test('generations tells how every projection stands', async () => {
  const { reader } = await withOneNode();
  expect(await reader.generations()).toMatchObject([
    {
      projection: 'supernodes',
      generation: 1,
      version: 1,
      status: 'live',
      stream: 'NODES',
      position: 1,
      stoppedAt: null,
      stoppedReason: null,
    },
  ]);
});

test('reads that wait together share one transaction, which begins after they were asked for', async () => {
  const { reader, pools, log, live } = await withOneNode();
  const position = async () => await reader.read(async ({ followed }) => followed.supernodes.sequence);
  const later: Promise<number>[] = [];
  const trips = countTrips(pools, () => {
    if (later.length === 0) later.push(position(), position(), position());
  });
  expect([await position(), ...(await Promise.all(later))]).toEqual([1, 1, 1, 1]);
  expect(trips()).toBe(2 * tripsOfTransaction);
  log.append(nodeFacts('a').changed({ note: 'later' }));
  await eventually(async () => expect(await live()).toMatchObject({ position: 2 }));
  expect(await position()).toBe(2);
});

test('a statement that fails, fails its own read alone of those that share its transaction', async () => {
  const { reader } = await withOneNode();
  const ask = async (n: string) =>
    await reader.read(async ({ db }) => {
      const { rows } = await sql<{ n: number }>`select ${n}::int4 as n`.execute(db);
      return [...rows, ...(await sql<{ n: number }>`select ${n}::int4 + 1 as n`.execute(db)).rows];
    });
  const outcomes = await Promise.allSettled(['1', 'two', '3', 'four', '5'].map(ask));
  expect(outcomes.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason)))).toEqual([
    [{ n: 1 }, { n: 2 }],
    expect.stringContaining('"two"'),
    [{ n: 3 }, { n: 4 }],
    expect.stringContaining('"four"'),
    [{ n: 5 }, { n: 6 }],
  ]);
});

test('reads with slow statements hold up nobody who does not share their transaction', async () => {
  const { reader, pools } = await withOneNode();
  const ended: string[] = [];
  const read = async (name: string, seconds: number) => {
    await reader.read(async ({ db }) => await sql`select pg_sleep(${seconds}::float8)`.execute(db));
    ended.push(name);
  };
  const asleep = async (): Promise<number> => {
    const { rows } = await pools.watch.query<{ n: string }>(
      `select count(*) as n from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`,
    );
    return Number(rows[0]?.n);
  };
  const slow: Promise<void>[] = [];
  for (let n = 1; n <= 3; n += 1) {
    slow.push(read('slow', 4));
    await eventually(async () => expect(await asleep()).toBe(n));
  }
  await Promise.all([read('quick', 0), read('quick', 0)]);
  await Promise.all(slow);
  expect(ended).toEqual(['quick', 'quick', 'slow', 'slow', 'slow']);
});
