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

/** How a read begins. */
export type ReadMode = Readonly<{
  /**
   * The generations are read before all else, by a read that is shared by all who wait for one: best for what will
   * mostly send no statement, as that takes no connection of its own.
   */
  looksFirst?: boolean;
}>;

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
  read: <T>(use: (reading: Reading) => Promise<T>, how?: ReadMode) => Promise<T>;
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
  const look = shared(
    async () =>
      await lent(pools.read, async (connect) => liveFrom((await sendBatch(await connect(), [live])[0]) ?? [], known)),
  );
  const guess = async <T>(connect: Connect, assumed: Assumed, use: Use<T>): Promise<T> => {
    const onLive = (now: LiveGenerations): void => void (known = now);
    const reading = optimisticSnapshot({ reader, versions, ...assumed }, { connect, live, onLive, ...assumed });
    const [outcome] = await Promise.allSettled([use(reading)]);
    await reading.confirmed();
    return valueOf(outcome);
  };
  const lookFirst = async <T>(connect: Connect, use: Use<T>): Promise<T> => {
    known = await look();
    return await guess(connect, { taken: known, isRead: true }, use);
  };
  const hold = async <T>(connect: Connect, use: Use<T>): Promise<T> => {
    const client = await connect();
    const [, match] = await Promise.all(
      sendBatch(client, [{ text: 'begin isolation level repeatable read read only' }, live]),
    );
    known = liveFrom(match ?? [], known);
    const [outcome] = await Promise.allSettled([use(heldSnapshot({ reader, versions, taken: known }, client))]);
    await Promise.all(sendBatch(client, [{ text: 'commit' }]));
    return valueOf(outcome);
  };
  const attempt = async <T>(connect: Connect, use: Use<T>, isHeld: boolean): Promise<T> => {
    await connect();
    return await (known && !isHeld ? guess(connect, { taken: known, isRead: false }, use) : hold(connect, use));
  };
  return {
    read: async <T>(use: Use<T>, { looksFirst = false } = {}): Promise<T> =>
      await lent(pools.read, async (connect) => {
        let isHeld = false;
        for (let tries = 1; ; tries += 1) {
          const trying: Promise<T> =
            looksFirst && tries === 1 ? lookFirst(connect, use) : attempt(connect, use, isHeld);
          const [outcome] = await Promise.allSettled([trying]);
          if (outcome.status === 'fulfilled') return outcome.value;
          if (!(outcome.reason instanceof GenerationChanged) || tries >= mostTries) throw outcome.reason;
          // A second guess assumes what the first one saw: it costs one round trip, and a transaction costs three.
          isHeld = tries > 1 || outcome.reason.isBetweenQueries;
        }
      }),
    generations: () => listGenerations(pools.read, network).catch(fail),
  };
}

type Assumed = Readonly<{ taken: LiveGenerations; isRead: boolean }>;

/** Takes a connection, the same one each time. */
type Connect = () => Promise<pg.ClientBase>;

/** Lends a connection where one is taken; one that may have broken is closed rather than used again. */
async function lent<T>(pool: pg.Pool, use: (connect: Connect) => Promise<T>): Promise<T> {
  let taken: Promise<pg.PoolClient> | undefined;
  const release = async (isBroken: boolean): Promise<void> =>
    await taken?.then(
      (client) => client.release(isBroken),
      () => undefined,
    );
  try {
    const result = await use(() => (taken ??= pool.connect()));
    await release(false);
    return result;
  } catch (caught) {
    await release(!(caught instanceof AppError));
    reportDamage(pool, caught);
    throw toReadError(caught);
  }
}

/** Runs work once for all who ask while it waits: the work of an answer began after it was asked for. */
function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let next: Promise<T> | undefined;
  let under: Promise<unknown> = Promise.resolve();
  const start = async (): Promise<T> => {
    await under;
    next = undefined;
    const working = work();
    under = working.catch(() => undefined);
    return await working;
  };
  return () => (next ??= start());
}

type Use<T> = (reading: Reading) => Promise<T>;

function valueOf<T>(outcome: PromiseSettledResult<T>): T {
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

function fail(caught: unknown): never {
  throw toReadError(caught);
}
