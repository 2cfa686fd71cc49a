import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Recorded } from '../../../src/commands/ports.ts';
import { rebuild } from '../../../src/engine/models/build/rebuild.ts';
import { createApplier } from '../../../src/engine/models/engine/apply.ts';
import { foldingOf, storedTables } from '../../../src/engine/models/engine/folding.ts';
import { createGeneration, createKey } from '../../../src/engine/models/engine/generation-tables.ts';
import { withClient } from '../../../src/engine/models/pool.ts';
import type { Fact } from '../../../src/events/catalogue.ts';
import { defineTable, nullable, type RowOf } from '../../../src/projections/columns.ts';
import { defineProjection, ignoring, type Touch } from '../../../src/projections/projection.ts';
import { nodeFacts } from '../../support/histories/facts.ts';
import { type Database, openDatabase } from './engine.ts';
import { MemoryLog } from './memory-log.ts';

const holdings = defineTable({
  name: 'holdings',
  columns: { holder: 'text', height: 'int8', code: nullable('bytea'), balance: 'uint256', seen: 'int8' },
  key: ['holder', 'height'],
});

type Row = RowOf<typeof holdings>;

/** What a fact adds to one holding. */
const plus =
  (holder: string, height: number, more: bigint): Touch<Row>['next'] =>
  (row) => ({
    holder,
    height,
    code: row?.code ? `0x${row.code.slice(2)}00` : '0x',
    balance: String(BigInt(row?.balance ?? 2n ** 255n) + more),
    seen: (row?.seen ?? 0) + 1,
  });

/**
 * Balances of accounts at heights, of which a fact touches as many as it lists: a key of two columns, bytes and 256-bit
 * numbers.
 */
const model = defineProjection({
  name: 'supernodes',
  version: 1,
  stream: 'NODES',
  table: holdings,
  derivedTables: [],
  on: {
    SuperNodeListed: ({ record }) =>
      record.accounts.map(({ account, height }) => ({ key: [account, height], next: plus(account, height, 1n) })),
    SuperNodeChanged: ({ node, record }) => [
      { key: [node, 0], next: plus(node, 0, 10n ** 30n) },
      ...record.accounts.map(({ account, height }) => ({ key: [account, height], next: () => null })),
    ],
    SuperNodeRemoved: 'ignored',
    ...ignoring('validator'),
  },
  counters: [
    {
      table: defineTable({ name: 'totals', columns: { height: 'int8', balance: 'numeric' }, key: ['height'] }),
      counts: ({ height, balance }) => [{ height, balance }],
    },
  ],
});

const holders = fc.constantFrom('a', 'b', 'c\\"', 'd{}', 'e,f', 'g\0h');
const accounts = fc.uniqueArray(fc.record({ account: holders, height: fc.integer({ min: 1, max: 3 }) }), {
  maxLength: 5,
  selector: ({ account, height }) => `${account} ${height}`,
});
const facts: fc.Arbitrary<Fact> = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(holders, accounts).map(([id, all]) => nodeFacts(id).listed({ accounts: all })) },
  { weight: 1, arbitrary: fc.tuple(holders, accounts).map(([id, all]) => nodeFacts(id).changed({ accounts: all })) },
  { weight: 1, arbitrary: holders.map((id) => nodeFacts(id).removed()) },
);

const stored = (text: string): string => text.replaceAll('\0', '\uFFFD');

/** What the table must hold, without any of the engine's code. */
function expected(history: readonly Recorded[]) {
  const rows = new Map<string, { holder: string; height: number; row: Row | null; position: number }>();
  for (const { fact, sequence: position } of history) {
    if (fact.type !== 'SuperNodeListed' && fact.type !== 'SuperNodeChanged') continue;
    for (const { key, next } of model.on[fact.type] === 'ignored' ? [] : touchesOf(fact)) {
      const [holder, height] = key as [string, number];
      const row = next(rows.get(JSON.stringify(key))?.row ?? undefined);
      rows.set(JSON.stringify(key), { holder, height, row, position });
    }
  }
  const nothing = { code: null, balance: null, seen: null };
  return [...rows.values()]
    .map(({ holder, height, row, position }) => ({
      ...(row ?? nothing),
      holder: stored(holder),
      height,
      position,
      removed: row === null,
    }))
    .toSorted((a, b) => Buffer.compare(Buffer.from(a.holder), Buffer.from(b.holder)) || a.height - b.height);
}

function touchesOf(fact: Fact<'SuperNodeListed' | 'SuperNodeChanged'>): readonly Touch<Row>[] {
  const handler = model.on[fact.type];
  return handler === 'ignored' ? [] : handler(fact.data);
}

const rowsOf = async ({ pools }: Database, schema: string): Promise<unknown[]> =>
  (await pools.read.query(`select * from ${schema}.holdings order by holder, height`)).rows;

test('a fact that touches many rows by a key of two columns gives the same table live, split and repeated', async () => {
  const database = await openDatabase();
  const { pools, network } = database;
  const folding = foldingOf(model);
  await fc.assert(
    fc.asyncProperty(fc.array(facts, { minLength: 1, maxLength: 30 }), fc.nat(30), async (history, cut) => {
      const log = new MemoryLog();
      log.append(...history);
      const generation = await withClient(pools.bulk, async (client) => {
        const made = await createGeneration(client, folding, { network, incarnation: log.incarnation });
        for (const table of storedTables(folding)) await createKey(client, made.schema, table);
        return made;
      });
      const applier = createApplier(folding, generation, network);
      for (const batch of [log.facts.slice(0, cut), log.facts.slice(0, cut), log.facts])
        expect(await withClient(pools.write, (client) => applier.apply(client, batch))).toBe(true);
      expect(await rowsOf(database, generation.schema)).toEqual(expected(log.facts));
    }),
    { numRuns: 25 },
  );
});

test('a rebuild of such a model with little memory gives the same, and equals its independent fold', async () => {
  const database = await openDatabase();
  const { pools, network } = database;
  const log = new MemoryLog();
  log.append(...fc.sample(facts, { numRuns: 200, seed: 3 }));
  const limits = { mostRows: 4, mostLate: 5, mostCompared: 3 };
  const signal = new AbortController().signal;
  await rebuild({ pools, network, source: log, projection: model, signal, limits });
  expect(await rowsOf(database, (await database.live())?.schema ?? '')).toEqual(expected(log.facts));
});
