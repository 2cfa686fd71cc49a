import type pg from 'pg';
import type { Table } from '../../../projections/columns.ts';
import type { Folding } from '../engine/folding.ts';
import { createIndexes, createKey, vacuumTable } from '../engine/generation-tables.ts';
import { loadersOfBuild, type Pools, withClient } from '../pool.ts';
import { storedTables } from '../engine/stored-tables.ts';

/** Tables that were filled; the signal ends the work between two steps. */
export type Filled = Readonly<{ pools: Pools; folding: Folding; schema: string; signal: AbortSignal }>;

/** Which tables have their keys already, and what else to do with each, which only reads it. */
export type Finish = Readonly<{
  keyed: ReadonlySet<string>;
  each: (client: pg.ClientBase, table: Table) => Promise<void>;
}>;

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
  const finish = async (): Promise<unknown> => {
    let isAtWork = false;
    try {
      await withClient(pools.load, async (client) => {
        for (let next = left.shift(); next; next = left.shift()) {
          isAtWork = true;
          await next(client);
          signal.throwIfAborted();
        }
      });
      return undefined;
    } catch (caught) {
      if (isAtWork) throw caught;
      return caught;
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: loadersOfBuild }, finish));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  // Whoever got no connection missed nothing where the other one did it all.
  for (const end of ends) if (left.length > 0 && end.status === 'fulfilled' && end.value) throw end.value;
}
