import type pg from 'pg';
import type { Table } from '../../../projections/projection.ts';
import type { Folding } from '../engine/folding.ts';
import { createIndexes, createKey, vacuumTable } from '../engine/generation-tables.ts';
import { type Pools, withClient } from '../pool.ts';
import { storedTables } from '../engine/stored-tables.ts';

/** Tables that were filled; the signal ends the work between two steps. */
export type Filled = Readonly<{ pools: Pools; folding: Folding; schema: string; signal: AbortSignal }>;

/** Which tables have their keys already, and what else to do with each, which only reads it. */
export type Finish = Readonly<{
  keyed: ReadonlySet<string>;
  each: (client: pg.ClientBase, table: Table) => Promise<void>;
}>;

const atOnce = 2;

/** Makes keys and indexes and tells the planner, two tables at a time, the main one first, then all else; fails when all have ended. */
export async function finishTables({ pools, folding, schema, signal }: Filled, { keyed, each }: Finish): Promise<void> {
  const tables = storedTables(folding);
  const left = [
    ...tables.map((table) => async (client: pg.ClientBase) => {
      if (!keyed.has(table.name)) await createKey(client, schema, table);
      await createIndexes(client, schema, table);
      await vacuumTable(client, schema, table);
    }),
    ...tables.map((table) => (client: pg.ClientBase) => each(client, table)),
  ];
  const finish = (): Promise<void> =>
    withClient(pools.load, async (client) => {
      for (let next = left.shift(); next; next = left.shift()) {
        await next(client);
        signal.throwIfAborted();
      }
    });
  const done = await Promise.allSettled(Array.from({ length: atOnce }, finish));
  for (const one of done) if (one.status === 'rejected') throw one.reason;
}
