import type pg from 'pg';
import { AppError } from '../../../kit/errors.ts';
import { type AnyProjection, projections as all } from '../../../projections/all.ts';
import type { Reading } from '../../../projections/reading.ts';
import { sendBatch } from '../../../kit/shims/pg/batch.ts';
import { toReadError } from '../database-error.ts';
import { type Generation, listGenerations } from '../engine/generations.ts';
import {
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
 * A read assumes the generations that the previous read saw, and queries their positions along with everything else:
 * most reads take one round trip to PostgreSQL. Where the positions are others, it runs again with those that it saw,
 * and where they advance meanwhile, within a transaction that is held until its end.
 */
export function createReader({ pools, network, projections = all }: ReaderOptions): Reader {
  const live = findLive(network);
  const versions = new Map(projections.map(({ name, version }) => [name, version]));
  const reader = {};
  let known: LiveGenerations | undefined;
  const guess = async <T>(client: pg.ClientBase, accepted: LiveGenerations, use: Use<T>): Promise<T> => {
    const onLive = (now: LiveGenerations): void => void (known = now);
    const reading = optimisticSnapshot({ client, reader, versions, taken: accepted }, { live, onLive });
    const [outcome] = await Promise.allSettled([use(reading)]);
    await reading.confirmed();
    return valueOf(outcome);
  };
  const hold = async <T>(client: pg.ClientBase, use: Use<T>): Promise<T> => {
    const [, match] = await Promise.all(
      sendBatch(client, [{ text: 'begin isolation level repeatable read read only' }, live]),
    );
    known = liveFrom(match ?? []);
    const [outcome] = await Promise.allSettled([use(heldSnapshot({ client, reader, versions, taken: known }))]);
    await Promise.all(sendBatch(client, [{ text: 'commit' }]));
    return valueOf(outcome);
  };
  const attempt = <T>(client: pg.ClientBase, use: Use<T>, isHeld: boolean): Promise<T> =>
    known && !isHeld ? guess(client, known, use) : hold(client, use);
  return {
    read: async <T>(use: Use<T>): Promise<T> => {
      const client = await pools.read.connect().catch(fail);
      let isBroken = true;
      try {
        let isHeld = false;
        for (let tries = 1; ; tries += 1) {
          const [outcome]: [PromiseSettledResult<T>] = await Promise.allSettled([attempt(client, use, isHeld)]);
          if (outcome.status === 'rejected' && outcome.reason instanceof GenerationChanged && tries < mostTries) {
            // A second guess assumes what the first one saw: it costs one round trip, and a transaction costs three.
            isHeld = tries > 1 || outcome.reason.isBetweenQueries;
            continue;
          }
          isBroken = outcome.status === 'rejected' && !(outcome.reason instanceof AppError);
          return valueOf(outcome);
        }
      } catch (caught) {
        reportDamage(pools.read, caught);
        throw toReadError(caught);
      } finally {
        client.release(isBroken);
      }
    },
    generations: () => listGenerations(pools.read, network).catch(fail),
  };
}

type Use<T> = (reading: Reading) => Promise<T>;

function valueOf<T>(outcome: PromiseSettledResult<T>): T {
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

function fail(caught: unknown): never {
  throw toReadError(caught);
}
