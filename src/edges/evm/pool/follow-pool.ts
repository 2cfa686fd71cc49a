import { type Submission, SubmitTransactions } from '../../../commands/ledger/submit.ts';
import type { FactLog, Recorded } from '../../../commands/ports.ts';
import { catalogue, type FactOf } from '../../../events/catalogue.ts';
import type { StreamName } from '../../../events/streams.ts';
import { lostEnd } from '../../../engine/log/follow.ts';
import { passes } from '../../../kit/errors.ts';
import type { Logger } from '../../../kit/logger.ts';
import { repeat } from '../../../kit/repeat.ts';
import { dispatch } from '../../bus.ts';

/** What following needs of the log. */
export type PoolLog = FactLog &
  Readonly<{
    follow: (
      stream: StreamName,
      after: number,
      options: { signal: AbortSignal; verifiesLast: true; onResumed: () => Promise<void> },
    ) => AsyncIterable<Readonly<{ facts: readonly Recorded[]; behind: number }>>;
  }>;

type SubmissionFact = FactOf<'submission'>;
type SubmissionSent = Extract<SubmissionFact, { type: 'EvmTransactionSubmitted' | 'CosmosTransactionSubmitted' }>;

/** The fate of a submission. */
export type SubmissionFate = Exclude<SubmissionFact, SubmissionSent>;

/** Receives submissions and fates, in the order of the log. */
export type PoolFollower = Readonly<{
  onSubmitted: (sent: SubmissionSent) => void | Promise<void>;
  onFate: (fate: SubmissionFate) => void;
  /** Whether a submission waits here. */
  isWaiting: (hash: string) => boolean;
  /** The submissions that wait here. */
  waiting: () => readonly Submission[];
  log?: Logger | undefined;
  signal: AbortSignal;
}>;

const retryMs = 1000;

/**
 * Follows all submissions and their fates.
 *
 * Of what the stream holds already only submissions without a fate are passed on, so that a start reads no transaction
 * that is settled, and fates of what came to wait here meanwhile. No archive holds this stream: whenever the broker
 * was away, what waits here and is gone is written anew; where it has lost the end, the stream is read from its
 * beginning as well.
 */
export async function followPool(log: PoolLog, follower: PoolFollower): Promise<void> {
  let isAgain = false;
  const follow = async (): Promise<void> => {
    if (isAgain) await writeAnew(log, follower.waiting());
    await followOnce(log, follower, isAgain);
  };
  const isPassing = (caught: unknown): boolean => (isAgain = lostEnd(caught) !== undefined || passes(caught));
  const { log: logger, signal } = follower;
  await repeat('submissions could not be followed; reading them anew', follow, {
    everyMs: 0,
    retryMs,
    isPassing,
    log: logger,
    signal,
  });
}

/** Submissions that the log has are left as they are. */
async function writeAnew(log: FactLog, waiting: readonly Submission[]): Promise<void> {
  const submissions = new Map(waiting.map((submission) => [submission.hash, submission]));
  await dispatch(log, new SubmitTransactions(submissions, { at: new Date().toISOString() }));
}

/** Follows until the stream cannot be read; read again, its fates count as well, for some may not have come before. */
async function followOnce(
  log: PoolLog,
  { onSubmitted, onFate, isWaiting, waiting, signal }: PoolFollower,
  isAgain: boolean,
): Promise<void> {
  let backlog: Map<string, SubmissionFact> | undefined = new Map();
  const take = async (fact: SubmissionFact): Promise<void> => (isSent(fact) ? await onSubmitted(fact) : onFate(fact));
  const options = { signal, verifiesLast: true, onResumed: () => writeAnew(log, waiting()) } as const;
  for await (const { facts, behind } of log.follow('POOL', 0, options)) {
    for (const { fact } of facts) {
      if (!isSubmissionFact(fact)) continue;
      if (backlog === undefined) await take(fact);
      else if (isSent(fact) || isAgain || isWaiting(fact.data.hash)) backlog.set(fact.data.hash, fact);
      else backlog.delete(fact.data.hash);
    }
    if (backlog === undefined || behind > 0) continue;
    for (const fact of backlog.values()) await take(fact);
    backlog = undefined;
  }
}

const isSubmissionFact = (fact: Recorded['fact']): fact is SubmissionFact => catalogue[fact.type].kind === 'submission';

const isSent = (fact: SubmissionFact): fact is SubmissionSent =>
  fact.type === 'EvmTransactionSubmitted' || fact.type === 'CosmosTransactionSubmitted';
