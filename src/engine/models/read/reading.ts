import { type AnyProjection, projections as all } from '../../../projections/all.ts';
import type { ResultRows } from '../../../kit/shims/pg/batch.ts';
import type { Reading } from '../../../projections/reading.ts';
import { toReadError } from '../database-error.ts';
import { type Generation, listGenerations } from '../engine/generations.ts';
import { type Pools, reportDamage } from '../pool.ts';
import { findLive, liveFrom, type LiveGenerations, readingOf, SnapshotLost } from './snapshot.ts';
import { keepConnections } from './kept-connections.ts';
import { endShared, startShared } from './shared-transaction.ts';
import { createTurns } from './turns.ts';

/** Reads what projections made. */
export type Reader = Readonly<{
  /**
   * Runs queries against one snapshot of all live generations; their positions are of that same instant, which is after
   * the call.
   *
   * `use` runs again where a statement of another read fails beside it, and only the last run counts. Fails with
   * `UNAVAILABLE` when PostgreSQL is away or its tables are being made, and when `use` reads a projection that has no
   * live generation of the version that this program reads.
   *
   * @example await reader.read(rounds)
   */
  read: <T>(use: (reading: Reading) => Promise<T>) => Promise<T>;
  /** The state of every projection, its unfinished generations included. */
  generations: () => Promise<readonly Generation[]>;
}>;

/** Whose read models, and which versions of projections are read; those that are not named, in any version. */
type ReaderOptions = Readonly<{
  pools: Pick<Pools, 'read'>;
  network: string;
  projections?: readonly Pick<AnyProjection, 'name' | 'version'>[];
}>;

const mostTries = 4;

/**
 * Makes the reader of a network; it opens nothing of its own.
 *
 * Reads that wait together share a transaction: one look at the generations, and statements that leave together, so
 * that a read costs the less the more there are.
 */
export function createReader({ pools, network, projections = all }: ReaderOptions): Reader {
  const look = findLive(network);
  const requesting = { reader: {}, versions: new Map(projections.map(({ name, version }) => [name, version])) };
  let known: LiveGenerations | undefined;
  const onLive = (rows: ResultRows): LiveGenerations => (known = liveFrom(rows, known));
  const connections = keepConnections(pools.read, endShared);
  const open = async () => {
    const lent = await connections.take();
    const { first, run, end } = startShared(lent, look);
    return { run, live: first.then(onLive), end: () => connections.giveBack(lent, end()) };
  };
  const share = createTurns(open);
  const read = async <T>(use: Use<T>): Promise<T> => {
    for (let tries = 1; ; tries += 1) {
      const reading = share(async ({ run, live }) => await use(readingOf(requesting, run, await live)));
      const [outcome] = await Promise.allSettled([reading]);
      if (outcome.status === 'fulfilled') return outcome.value;
      if (!(outcome.reason instanceof SnapshotLost) || tries >= mostTries) throw outcome.reason;
    }
  };
  return {
    read: async (use) => {
      try {
        return await read(use);
      } catch (caught) {
        reportDamage(pools.read, caught);
        throw toReadError(caught);
      }
    },
    generations: () => listGenerations(pools.read, network).catch(fail),
  };
}

type Use<T> = (reading: Reading) => Promise<T>;

function fail(caught: unknown): never {
  throw toReadError(caught);
}
