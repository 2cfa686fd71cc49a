import type pg from 'pg';
import type { AnyProjection } from '../../../projections/all.ts';
import type { Table } from '../../../projections/columns.ts';
import { type Folding, foldingOf, storedTables } from '../engine/folding.ts';
import {
  createGeneration,
  createIndexes,
  createKey,
  dropUnfinished,
  vacuumTable,
} from '../engine/generation-tables.ts';
import { type Generation, recordFilled } from '../engine/generations.ts';
import type { SourceHead, FactSource } from '../engine/source.ts';
import { loadersOfBuild, type Pools, withClient } from '../pool.ts';
import { createFilling } from './fill.ts';
import { type CountFacts, createCount, type RebuildProgress, readUpTo } from './load.ts';
import { switchTo, withBuildLock } from './switch.ts';
import { createVerification, type VerifyOptions } from './verify.ts';

/** Options of a rebuild, with the callback for its progress; `limits` bound its memory. */
type RebuildOptions = Readonly<{
  pools: Pools;
  source: FactSource;
  projection: AnyProjection;
  network: string;
  signal: AbortSignal;
  onProgress?: ((progress: RebuildProgress) => void) | undefined;
  limits?: Limits | undefined;
}>;

/** The result of a rebuild: the generation that is live now. */
export type Rebuilt = Readonly<{ generation: number; position: number; facts: number }>;

/**
 * Builds the next generation of a projection from the first fact on, compares it with an independent fold of the log,
 * then switches readers over to it.
 *
 * May run in any process, beside the live projector and under readers: they see no error, and no position goes back
 * unless the log was replaced. A process runs a few at a time, the others wait for their turn. Fails with a `StopError`
 * that names what differs when the comparison fails; that generation stays for inspection. Fails with `CONFLICT` while
 * another rebuild of the projection runs, and with `UNAVAILABLE` while the log lacks events that come back; what a
 * rebuild left unfinished is dropped by the next one. The generation that was live stays as the previous one
 * (`switchBack`).
 *
 * @example await rebuild({ pools, source: log, projection: actions, network: 'local', signal })
 */
export async function rebuild(options: RebuildOptions): Promise<Rebuilt> {
  const folding = foldingOf(options.projection);
  const { pools, network, signal } = options;
  const run = (): Promise<Rebuilt> =>
    withClient(pools.bulk, (client) =>
      withBuildLock(client, { network, projection: folding.name }, () => build(client, folding, options)),
    );
  return pools.builds.run(run, signal);
}

async function build(client: pg.PoolClient, folding: Folding, options: RebuildOptions): Promise<Rebuilt> {
  const { pools, source, network, signal, onProgress, limits } = options;
  await dropUnfinished(client, network, folding.name);
  const head = await source.head(folding.stream);
  const made = await createGeneration(client, folding, { network, incarnation: head.incarnation });
  const count = createCount(head.lastSequence - head.firstSequence + 1, onProgress);
  const position = await buildTables({ pools, source, folding, generation: made, head, count, signal, limits });
  const next = await recordFilled(client, network, { generation: made, position });
  const switchedAt = await switchTo(client, { folding, next, count }, options);
  return { generation: next.generation, position: switchedAt, facts: count(0) };
}

/** The generation to build, its source, and the callback for its progress; the limits are for tests. */
type BuildOptions = Readonly<{
  pools: Pools;
  source: FactSource;
  folding: Folding;
  generation: Generation;
  /** The tables are built up to here, and a little further where a batch ends. */
  head: SourceHead;
  count: CountFacts;
  signal: AbortSignal;
  limits?: Limits | undefined;
}>;

/** How many rows are held by the fold that is written, and by the one that it is compared with. */
export type Limits = Readonly<{ mostRows?: number; mostLate?: number; mostCompared?: number }>;

/**
 * Fills a generation's empty tables from the log, makes their keys and indexes, and compares them with an independent
 * fold of the same facts; returns the sequence that they hold.
 *
 * Fails with a `StopError` at a fact that cannot be applied, and when the tables differ from the fold.
 */
async function buildTables(options: BuildOptions): Promise<number> {
  const { pools, folding, generation, limits, signal } = options;
  const reading = { ...options, stream: folding.stream };
  let position = 0;
  const again: VerifyOptions['again'] = async (take, upTo) => {
    const head = { ...options.head, lastSequence: upTo };
    await readUpTo({ ...reading, head, count: () => 0 }, async (facts) =>
      take(facts.filter(({ sequence }) => sequence <= upTo)),
    );
  };
  const { schema, generation: number } = generation;
  const verification = createVerification({
    folding,
    schema,
    generation: number,
    stored: async (read) => ({ rows: await withClient(pools.load, read), position }),
    again,
    mostRows: limits?.mostCompared,
  });
  try {
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
    await verification.compare();
    return position;
  } finally {
    verification.close();
  }
}

/** Tables that were filled; the signal ends the work between two steps. */
export type Filled = Readonly<{ pools: Pools; folding: Folding; schema: string; signal: AbortSignal }>;

/** Which tables have their keys already, and what else to do with each, which only reads it. */
type Finish = Readonly<{
  keyed: ReadonlySet<string>;
  each: (client: pg.ClientBase, table: Table) => Promise<void>;
}>;

/**
 * Makes keys and indexes and refreshes the planner's statistics, two tables at a time, the main one first, then all
 * else; fails when all have ended.
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
  // An attempt without a connection missed nothing where the other one did all of the work.
  for (const end of ends) if (left.length > 0 && end.status === 'fulfilled' && end.value) throw end.value;
}
