import type pg from 'pg';
import type { Statement } from '../../../kit/shims/pg/batch.ts';
import { AppError } from '../../../kit/errors.ts';
import type { Reading } from '../../../projections/reading.ts';
import { type Pools, withClient } from '../pool.ts';
import { type ReadingConnection, liveFrom, type LiveGenerations } from './snapshot.ts';

/** Queries of one snapshot. */
export type UseReading<T> = (reading: Reading) => Promise<T>;

/** As long as any other read may take. */
const answerWithinMs = 5000;

/** Makes a snapshot that assumes generations; `isRead`: they were read for this reading. */
export type Optimistic = (connection: ReadingConnection, taken: LiveGenerations, isRead: boolean) => Reading;

/** How the positions are read, who learns of them, and what is made of them. */
type Positions = Readonly<{ live: Statement; onLive: (now: LiveGenerations) => void; optimistic: Optimistic }>;

/** Makes reads whose positions are read first, and which take a connection only for a query. */
export function createReadsAfterPositions(
  pools: Pick<Pools, 'read'> & Partial<Pick<Pools, 'write'>>,
  { live, onLive, optimistic }: Positions,
): <T>(use: UseReading<T>) => Promise<T> {
  const positions = sharePositions(pools.write ?? pools.read, live);
  const seats: object[] = [];
  return async <T>(use: UseReading<T>): Promise<T> => {
    const taken = await positions();
    onLive(taken);
    const seat = seats.pop() ?? {};
    let client: Promise<pg.PoolClient> | undefined;
    const reading = optimistic({ seat, connect: () => (client ??= pools.read.connect()) }, taken, true);
    const [outcome] = await Promise.allSettled([use(reading)]);
    const [confirmed] = await Promise.allSettled([reading.confirmed()]);
    const isBroken = isFailure(outcome) || isFailure(confirmed);
    await client?.then(
      (one) => one.release(isBroken),
      () => undefined,
    );
    seats.push(seat);
    valueOf(confirmed);
    return valueOf(outcome);
  };
}

/** The value of what succeeded; fails as it did otherwise. */
export function valueOf<T>(outcome: PromiseSettledResult<T>): T {
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

/** Whether a read failed for a reason that its connection may not survive. */
export const isFailure = (outcome: PromiseSettledResult<unknown>): boolean =>
  outcome.status === 'rejected' && !(outcome.reason instanceof AppError);

/**
 * Makes a read of the live generations that all callers share who arrive before it is sent: what each gets is never
 * older than its own call. One is under way at a time, so that callers gather meanwhile.
 */
function sharePositions(pool: pg.Pool, live: Statement): () => Promise<LiveGenerations> {
  const request: pg.QueryConfig & { query_timeout: number } = { ...live, query_timeout: answerWithinMs };
  let gathering: Promise<LiveGenerations> | undefined;
  let underWay: Promise<unknown> = Promise.resolve();
  const next = async (): Promise<LiveGenerations> => {
    await underWay.catch(() => undefined);
    const result = withClient(pool, async (client) => {
      gathering = undefined;
      return await client.query(request);
    });
    underWay = result;
    try {
      return liveFrom((await result).rows);
    } catch (caught) {
      gathering = undefined;
      throw caught;
    }
  };
  return async () => await (gathering ??= next());
}
