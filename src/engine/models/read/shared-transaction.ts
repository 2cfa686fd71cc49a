import pg from 'pg';
import { encoded, type ResultRows, type RunStatement, sendBatch, type Statement } from '../../../kit/shims/pg/batch.ts';
import type { Lent } from './kept-connections.ts';
import { SnapshotLost } from './snapshot.ts';

/** A transaction that reads: one instant, the same for all who share it. */
export type SharedTransaction = Readonly<{
  /** The rows of its first statement. */
  first: Promise<ResultRows>;
  /**
   * Runs a statement; fails with `SnapshotLost` where one of somebody else has failed.
   *
   * Those that are run in one turn of the event loop, or while others are under way, leave together.
   */
  run: RunStatement;
  /** Takes no more statements, and says whether all have succeeded; the transaction is still open. */
  end: () => boolean;
}>;

type Waiting = Readonly<{
  statement: Statement;
  resolve: (rows: ResultRows) => void;
  reject: (error: unknown) => void;
}>;

const start = { name: 'read.start', text: 'start transaction isolation level repeatable read read only' };
const next = { name: 'read.next', text: 'commit and chain' };
const commit = { name: 'read.commit', text: 'commit' };

/** Commits the transaction that a connection was left in. */
export const endShared = (client: pg.PoolClient): Promise<unknown> => Promise.all(sendBatch(client, [commit]));

/**
 * Starts a transaction on a connection with a first statement that all who share it need; where the connection
 * `isOpen`, it ends the one before.
 */
export function startShared({ client, isOpen }: Lent, statement: Statement): SharedTransaction {
  let waiting: Waiting[] = [];
  let [isUnderWay, hasEnded] = [false, false];
  let failure: unknown;
  const settle = async (answer: Promise<ResultRows> | undefined, { resolve, reject }: Waiting): Promise<void> => {
    try {
      resolve((await answer) ?? []);
    } catch (caught) {
      const isOfAnother = failure !== undefined && caught instanceof pg.DatabaseError;
      failure ??= caught;
      reject(isOfAnother ? new SnapshotLost() : caught);
    }
  };
  const leave = async (): Promise<void> => {
    while (waiting.length > 0 && !hasEnded) {
      const sent = waiting;
      waiting = [];
      const answers = sendBatch(
        client,
        sent.map((one) => one.statement),
      );
      await Promise.all(sent.map(async (one, at) => await settle(answers[at], one)));
    }
    isUnderWay = false;
  };
  const [, answer = Promise.resolve([])] = sendBatch(client, [isOpen ? next : start, statement]);
  // A connection that was kept may have been lost since: the next one is new, and says what is wrong.
  const first = isOpen ? answer.catch(() => Promise.reject(new SnapshotLost())) : answer;
  first.catch((caught: unknown) => (failure = caught));
  return {
    first,
    run: async (one) =>
      await new Promise((resolve, reject) => {
        if (failure !== undefined || hasEnded) {
          reject(new SnapshotLost());
          return;
        }
        waiting.push({ statement: encoded(one), resolve, reject });
        if (isUnderWay) return;
        isUnderWay = true;
        process.nextTick(() => void leave());
      }),
    end: () => {
      hasEnded = true;
      for (const { reject } of waiting) reject(new SnapshotLost());
      return failure === undefined;
    },
  };
}
