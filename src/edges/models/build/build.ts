import type pg from 'pg';
import { createFilling } from './fill.ts';
import { type Folding, storedTables } from '../engine/folding.ts';
import type { Generation } from '../engine/generations.ts';
import { type Count, readUpTo } from './load.ts';
import { loadersOfBuild, type Pools, withClient } from '../pool.ts';
import type { Head, Source } from '../engine/source.ts';
import { createVerification, type VerifyOptions } from './verify.ts';
import type { Table } from '../../../projections/columns.ts';
import { createIndexes, createKey, vacuumTable } from '../engine/generation-tables.ts';

/** What is built, from what, and who hears of it; the limits are for tests. */
export type BuildOptions = Readonly<{
  pools: Pools;
  source: Source;
  folding: Folding;
  generation: Generation;
  /** The tables are built up to here, and a little further where a batch ends. */
  head: Head;
  count: Count;
  signal: AbortSignal;
  limits?: Limits | undefined;
}>;

/** How many rows are held by the fold that is written, and by the one that it is compared with. */
export type Limits = Readonly<{ mostRows?: number; mostLate?: number; mostCompared?: number }>;

/**
 * Fills a generation's empty tables from the log, makes their keys and indexes, and compares them with an independent
 * fold of the same facts; gives back the sequence that they stand at.
 *
 * Fails with a `StopError` at a fact that cannot be taken, and when the tables differ from the fold.
 */
export async function buildTables(options: BuildOptions): Promise<number> {
  const { pools, folding, generation, limits, signal } = options;
  const reading = { ...options, stream: folding.stream };
  let position = 0;
  const again: VerifyOptions['again'] = async (take) => {
    const head = { ...options.head, lastSequence: position };
    await readUpTo({ ...reading, head, count: () => 0 }, async (facts) =>
      take(facts.filter(({ sequence }) => sequence <= position)),
    );
  };
  const { schema, generation: number } = generation;
  const verification = createVerification({
    folding,
    schema,
    generation: number,
    again,
    mostRows: limits?.mostCompared,
  });
  const keyed = await withClient(pools.load, async (client) => {
    const filling = createFilling({ client, folding, schema, ...limits });
    position = await readUpTo(reading, async (facts) => {
      await filling.take(facts);
      verification.take(facts);
    });
    return filling.end();
  });
  await Promise.all([
    finishTables({ pools, folding, schema, signal }, { keyed, each: verification.addStored }),
    verification.addFolded(),
  ]);
  await withClient(pools.load, verification.compare);
  return position;
}

/** Tables that were filled; the signal ends the work between two steps. */
export type Filled = Readonly<{ pools: Pools; folding: Folding; schema: string; signal: AbortSignal }>;

/** Which tables have their keys already, and what else to do with each, which only reads it. */
export type Finish = Readonly<{
  keyed: ReadonlySet<string>;
  each: (client: pg.ClientBase, table: Table) => Promise<void>;
}>;

/**
 * Makes keys and indexes and tells the planner, two tables at a time, the main one first, then all else; fails when all
 * have ended.
 */
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
