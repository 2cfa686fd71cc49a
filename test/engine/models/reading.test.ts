import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { onDamage } from '../../../src/engine/models/pool.ts';
import { createReader } from '../../../src/engine/models/read/reading.ts';
import { nodeFacts } from '../../support/histories/facts.ts';
import { countTrips, databaseOf, openDatabase, startProjector } from './engine.ts';
import { MemoryLog } from './memory-log.ts';
import { countOfNodes } from './reading-on.ts';
import { eventually } from '../../support/polling.ts';

async function withOneNode() {
  const database = await openDatabase();
  const log = new MemoryLog();
  log.append(nodeFacts('a').listed({ note: 'hello' }));
  startProjector(database, log);
  await eventually(async () => expect(await database.live()).toMatchObject({ position: 1 }));
  return { ...database, log };
}

const isOnly = (one: object) => (seen: Readonly<{ assumed: object; read: object }>) =>
  seen.assumed === one && seen.read === one;

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

test.each([false, true])(
  'read sees one instant, whatever is written meanwhile, and asks again what it asked before (looks first: %s)',
  async (looksFirst) => {
    const { reader, log, live } = await withOneNode();
    const seen: number[][] = [];
    const look = async () =>
      await reader.read(
        async ({ db, schemas, followed }) => {
          const nodes = sql<{ position: number }>`${sql.id(schemas.supernodes, 'nodes')}`.as('nodes');
          const position = db.selectFrom(nodes).select('position');
          const run = [followed.supernodes.sequence];
          seen.push(run);
          for (const row of await position.execute()) run.push(row.position);
          if (seen.length > 1) {
            const last = Number((await live())?.position);
            log.append(nodeFacts('a').changed({ note: `after ${last}` }));
            await eventually(async () => expect(await live()).toMatchObject({ position: last + 1 }));
          }
          for (const row of await position.execute()) run.push(row.position);
        },
        { looksFirst },
      );
    await look();
    await look();
    // Between its two queries the generations moved: the second run holds them.
    expect(seen).toEqual([
      [1, 1, 1],
      [1, 1],
      [2, 2, 2],
    ]);
  },
);

test('read makes generations anew only where they have moved: what each made would be collected late', async () => {
  const { reader, log, live } = await withOneNode();
  const look = async (looksFirst: boolean) =>
    await reader.read(
      async ({ db, schemas, followed }) => {
        const assumed = followed.supernodes;
        await countOfNodes(schemas.supernodes).execute(db);
        return { assumed, read: followed.supernodes };
      },
      { looksFirst },
    );
  const { read: first } = await look(false);
  for (const looksFirst of [false, true]) expect(await look(looksFirst)).toSatisfy(isOnly(first));
  log.append(nodeFacts('a').changed({ note: 'again' }));
  await eventually(async () => expect(await live()).toMatchObject({ position: 2 }));
  const { read: next } = await look(false);
  expect(next).toEqual({ ...first, sequence: 2 });
  expect(await look(false)).toSatisfy(isOnly(next));
});

test('read runs again, and gives and confirms nothing before, where the generations are not what the look before found', async () => {
  const { reader, log, live } = await withOneNode();
  const runs: string[] = [];
  const look = async () =>
    await reader.read(async ({ db, schemas, followed, confirmed }) => {
      const { sequence } = followed.supernodes;
      const nodes = sql<{ position: number }>`${sql.id(schemas.supernodes, 'nodes')}`.as('nodes');
      const query = db.selectFrom(nodes).select('position').execute();
      const [rows] = await Promise.allSettled([query]);
      const [isConfirmed] = await Promise.allSettled([confirmed()]);
      runs.push(`${sequence} ${rows.status} ${isConfirmed.status}`);
      return [sequence, rows.status === 'fulfilled' && rows.value];
    });
  expect(await look()).toEqual([1, [{ position: 1 }]]);
  expect(await look()).toEqual([1, [{ position: 1 }]]);
  log.append(nodeFacts('a').changed({ note: 'again' }));
  await eventually(async () => expect(await live()).toMatchObject({ position: 2 }));
  expect(await look()).toEqual([2, [{ position: 2 }]]);
  expect(await look()).toEqual([2, [{ position: 2 }]]);
  expect(runs).toEqual([
    '1 fulfilled fulfilled',
    '1 fulfilled fulfilled',
    '1 rejected rejected',
    '2 fulfilled fulfilled',
    '2 fulfilled fulfilled',
  ]);
});

test('read runs once where a position has only advanced since, as long as nobody has read it', async () => {
  const { reader, log, live } = await withOneNode();
  const advance = async (): Promise<void> => {
    const last = Number((await live())?.position);
    log.append(nodeFacts('a').changed({ note: `after ${last}` }));
    await eventually(async () => expect(await live()).toMatchObject({ position: last + 1 }));
  };
  const runs: number[][] = [];
  const look = async (between: () => Promise<void>) =>
    await reader.read(async ({ db, schemas, followed }) => {
      const nodes = sql<{ position: number }>`${sql.id(schemas.supernodes, 'nodes')}`.as('nodes');
      const position = db.selectFrom(nodes).select('position');
      const run: number[] = [];
      runs.push(run);
      for (const row of await position.execute()) run.push(row.position);
      if (runs.length === 3) await between();
      for (const row of await position.execute()) run.push(row.position);
      run.push(followed.supernodes.sequence);
    });
  await look(advance);
  await advance();
  await look(advance);
  await advance();
  await look(advance);
  // What its first query saw holds for all of a read: only a change between two queries makes it run again.
  expect(runs).toEqual([[1, 1, 1], [2, 2, 2], [3], [4, 4, 4]]);
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

test('reads that look first share one look at the positions, unless it began before they were asked for', async () => {
  const { reader, pools, log, live } = await withOneNode();
  const position = async () =>
    await reader.read(async ({ followed }) => followed.supernodes.sequence, { looksFirst: true });
  const later: Promise<number>[] = [];
  const trips = countTrips(pools, () => {
    if (later.length === 0) later.push(position(), position(), position());
  });
  expect([await position(), ...(await Promise.all(later))]).toEqual([1, 1, 1, 1]);
  expect(trips()).toBe(2);
  log.append(nodeFacts('a').changed({ note: 'later' }));
  await eventually(async () => expect(await live()).toMatchObject({ position: 2 }));
  expect(await position()).toBe(2);
});
