import type pg from 'pg';
import { type AnyProjection, projections as all } from '../../../projections/all.ts';
import { sendBatch } from '../../../kit/shims/pg/batch.ts';
import { toReadError } from '../database-error.ts';
import { type Generation, listGenerations } from '../engine/generations.ts';
import { createReadsAfterPositions, isFailure, type Optimistic, type UseReading, valueOf } from './after-positions.ts';
import {
  type ReadingConnection,
  findLive,
  optimisticSnapshot,
  heldSnapshot,
  liveFrom,
  type LiveGenerations,
  GenerationChanged,
} from './snapshot.ts';
import { type Pools, reportDamage } from '../pool.ts';

/** Reads what projections made. */
export type Reader = Readonly<{
  /**
   * Runs queries against one snapshot of all live generations; their positions are of that same instant.
   *
   * `use` runs again where the generations turn out to be others than assumed, and only the last run counts. Fails with
   * `UNAVAILABLE` when PostgreSQL is away or its tables are being made, and when `use` reads a projection that has no
   * live generation of the version that this program reads.
   *
   * With `positionsFirst` the positions are read first, together with other readers, and a connection is taken only for
   * a query: for a read that most likely needs none.
   *
   * @example await reader.read(rounds)
   */
  read: <T>(use: UseReading<T>, options?: ReadOptions) => Promise<T>;
  /** The state of every projection, its unfinished generations included. */
  generations: () => Promise<readonly Generation[]>;
}>;

type ReadOptions = Readonly<{ positionsFirst?: boolean }>;

/** Whose read models, and which versions of projections are read; those that are not named, in any version. */
type ReaderOptions = Readonly<{
  /** Positions that are shared are read through `write`, behind no slow query, where there is one. */
  pools: Pick<Pools, 'read'> & Partial<Pick<Pools, 'write'>>;
  network: string;
  projections?: readonly Pick<AnyProjection, 'name' | 'version'>[];
}>;

const mostTries = 4;

/**
 * Makes the reader of a network; it opens nothing of its own.
 *
 * A read assumes the generations that the previous read saw, and queries their positions along with everything else:
 * most reads take one round trip to PostgreSQL. Where the positions are others, it runs again with those that it saw,
 * and where they advance meanwhile, within a transaction that is held until its end.
 */
export function createReader({ pools, network, projections = all }: ReaderOptions): Reader {
  const live = findLive(network);
  const versions = new Map(projections.map(({ name, version }) => [name, version]));
  const reader = {};
  let known: LiveGenerations | undefined;
  const onLive = (now: LiveGenerations): void => void (known = now);
  const optimistic: Optimistic = (connection, taken, isRead) =>
    optimisticSnapshot({ connection, reader, versions, taken }, { live, onLive, isRead });
  const readFirst = createReadsAfterPositions(pools, { live, onLive, optimistic });
  const guess = async <T>(client: pg.ClientBase, accepted: LiveGenerations, use: UseReading<T>): Promise<T> => {
    const reading = optimistic(connectionOf(client), accepted, false);
    const [outcome] = await Promise.allSettled([use(reading)]);
    await reading.confirmed();
    return valueOf(outcome);
  };
  const hold = async <T>(client: pg.ClientBase, use: UseReading<T>): Promise<T> => {
    const [, match] = await Promise.all(
      sendBatch(client, [{ text: 'begin isolation level repeatable read read only' }, live]),
    );
    known = liveFrom(match ?? []);
    const held = heldSnapshot({ connection: connectionOf(client), reader, versions, taken: known });
    const [outcome] = await Promise.allSettled([use(held)]);
    await Promise.all(sendBatch(client, [{ text: 'commit' }]));
    return valueOf(outcome);
  };
  const attempt = <T>(client: pg.ClientBase, use: UseReading<T>, isHeld: boolean): Promise<T> =>
    known && !isHeld ? guess(client, known, use) : hold(client, use);
  return {
    read: async <T>(use: UseReading<T>, { positionsFirst = false }: ReadOptions = {}): Promise<T> => {
      if (positionsFirst) {
        const [outcome]: [PromiseSettledResult<T>] = await Promise.allSettled([readFirst(use)]);
        if (!isChanged(outcome)) return answerOf(outcome, pools.read);
      }
      const client = await pools.read.connect().catch(fail);
      let isBroken = true;
      try {
        let isHeld = false;
        for (let tries = 1; ; tries += 1) {
          const [outcome]: [PromiseSettledResult<T>] = await Promise.allSettled([attempt(client, use, isHeld)]);
          if (isChanged(outcome) && tries < mostTries) {
            // A second guess assumes what the first one saw: it costs one round trip, and a transaction costs three.
            isHeld = tries > 1 || outcome.reason.isBetweenQueries;
            continue;
          }
          isBroken = isFailure(outcome);
          return answerOf(outcome, pools.read);
        }
      } finally {
        client.release(isBroken);
      }
    },
    generations: () => listGenerations(pools.read, network).catch(fail),
  };
}

const connectionOf = (client: pg.ClientBase): ReadingConnection => ({ seat: client, connect: () => client });

type Rejected<Reason> = Omit<PromiseRejectedResult, 'reason'> & Readonly<{ reason: Reason }>;

const isChanged = (outcome: PromiseSettledResult<unknown>): outcome is Rejected<GenerationChanged> =>
  outcome.status === 'rejected' && outcome.reason instanceof GenerationChanged;

function answerOf<T>(outcome: PromiseSettledResult<T>, pool: pg.Pool): T {
  if (outcome.status === 'fulfilled') return outcome.value;
  reportDamage(pool, outcome.reason);
  throw toReadError(outcome.reason);
}

function fail(caught: unknown): never {
  throw toReadError(caught);
}
