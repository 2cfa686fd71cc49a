import fc from 'fast-check';
import { expect, test } from 'vitest';
import { rebuild } from '../../../src/engine/models/build/rebuild.ts';
import type { AnyProjection } from '../../../src/projections/all.ts';
import type { RowOf } from '../../../src/projections/columns.ts';
import type { Handler } from '../../../src/projections/projection.ts';
import { nodeFacts } from '../../support/histories/facts.ts';
import { type Database, openDatabase } from './engine.ts';
import { MemoryLog } from './memory-log.ts';
import { expected } from './small-model.ts';
import { factsOfNodes, small } from './small-projection.ts';

const many = (count: number) => fc.sample(factsOfNodes, { numRuns: count, seed: 17 });

const run = (
  { pools, network }: Database,
  log: MemoryLog,
  { projection = small, limits }: { projection?: AnyProjection; limits?: Parameters<typeof rebuild>[0]['limits'] } = {},
) => rebuild({ pools, network, source: log, projection, limits, signal: new AbortController().signal });

test('rebuild makes the tables that batches make, however little it may hold in memory', async () => {
  const database = await openDatabase();
  let logs = 0;
  const limits = fc.record({
    mostRows: fc.integer({ min: 1, max: 6 }),
    mostLate: fc.integer({ min: 0, max: 20 }),
    mostCompared: fc.integer({ min: 1, max: 6 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(factsOfNodes, { minLength: 1, maxLength: 80 }),
      limits,
      fc.integer({ min: 1, max: 30 }),
      async (facts, within, batchSize) => {
        const log = new MemoryLog();
        log.batchSize = batchSize;
        // A log in the place of the one before it: of the same one no model goes back.
        log.replace(`log ${(logs += 1)}`, facts);
        await run(database, log, { limits: within });
        expect(await database.live()).toMatchObject({ position: facts.length });
        expect(await database.tables()).toEqual(expected(log.facts));
      },
    ),
    { numRuns: 40 },
  );
});

test('rebuild reads the log once, however late its facts are, and still names a row that differs', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  const factsRead = countReads(log);
  const nodes = Array.from({ length: 60 }, (_, index) => nodeFacts(`n${index}`));
  for (let pass = 0; pass < 4; pass++) log.append(...nodes.map((node) => node.listed()));
  const limits = { mostRows: 10, mostLate: 10, mostCompared: 3 };
  await run(database, log, { limits });
  expect(await database.tables()).toEqual(expected(log.facts));
  expect(factsRead()).toBe(log.facts.length);
  await spoilNewTables(database, 'nodes', `if new.id = 'n7' then new.account := 'spoilt'; end if; return new;`);
  await expect(run(database, log, { limits })).rejects.toThrow(/1 rows of nodes differ: \(n7\) is \(spoilt, /);
});

test('rebuild refuses to switch to tables that were not written as folded, and names the rows', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  log.append(...many(40));
  await run(database, log);
  const before = await database.tables();
  await spoilNewTables(database, 'nodes', `if new.id = 'a' then new.account := 'spoilt'; end if; return new;`);
  await expect(run(database, log)).rejects.toThrow(
    /Generation 2 of supernodes does not hold what the log says, and is not switched to: 1 rows of nodes differ: \(a\) is \(spoilt, .*\) in the table and \(lumera1\w, .*\) by the log/,
  );
  expect(await database.live()).toMatchObject({ generation: 1 });
  expect(await database.tables()).toEqual(before);
  expect(await database.reader.generations()).toMatchObject([
    { status: 'live' },
    { generation: 2, status: 'building' },
  ]);
});

test.each([
  ['notes', 'return null;', /rows of notes differ: .* is missing in the table and/],
  [
    'counters',
    `new.n := new.n + 1; return new;`,
    /rows of counters differ: \(\w+, .*\) is \(.*\d.*\) in the table and/,
  ],
])('rebuild compares %s as well', async (table, change, message) => {
  const database = await openDatabase();
  const log = new MemoryLog();
  log.append(...many(40));
  await spoilNewTables(database, table, change);
  await expect(run(database, log, { limits: { mostCompared: 2 } })).rejects.toThrow(message);
  expect(await database.live()).toBeUndefined();
});

test('rebuild refuses handlers that do not make the same of the same facts', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  log.append(nodeFacts('a').listed(), nodeFacts('b').listed());
  let calls = 0;
  const blank = { account: null, weight: '0', score: 0, odd: false, notes: [], last: null };
  const touched: Handler<RowOf<typeof small.table>, 'SuperNodeListed'> = ({ node }) => [
    { key: node, next: () => ({ ...blank, id: node, touched: (calls += 1) }) },
  ];
  const unsteady = { ...small, on: { ...small.on, SuperNodeListed: touched } };
  await expect(run(database, log, { projection: unsteady })).rejects.toThrow(/2 rows of nodes differ: \([ab]\) is/);
  expect(await database.live()).toBeUndefined();
});

/** Changes what is written into tables of a name that are made from now on, as a faulty store or writer would. */
async function spoilNewTables({ pools }: Database, table: string, change: string): Promise<void> {
  await pools.bulk.query(`
    create function spoil() returns trigger language plpgsql as $$ begin ${change} end $$;
    create function spoil_new() returns event_trigger language plpgsql as $$
      declare made record;
      begin
        for made in select * from pg_event_trigger_ddl_commands() where object_identity like '%.${table}' loop
          execute 'create trigger spoil before insert on ' || made.object_identity || ' for each row execute function public.spoil()';
        end loop;
      end $$;
    create event trigger spoil_new on ddl_command_end when tag in ('CREATE TABLE') execute function spoil_new();`);
}

/** Counts the facts that readers of a log take from now on. */
function countReads(log: MemoryLog): () => number {
  const { follow } = log;
  let read = 0;
  log.follow = async function* (...options) {
    for await (const batch of follow(...options)) {
      read += batch.facts.length;
      yield batch;
    }
  };
  return () => read;
}
