import { createFilling } from './fill.ts';
import { finishTables } from './finish.ts';
import type { Folding } from '../engine/folding.ts';
import type { Generation } from '../engine/generations.ts';
import { readUpTo } from './load.ts';
import { type Pools, withClient } from '../pool.ts';
import type { Count } from './progress.ts';
import type { Head, Source } from '../engine/source.ts';
import { createVerification, type VerifyOptions } from './verify.ts';

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
