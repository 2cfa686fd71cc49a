import type { Recorded } from '../../../commands/ports.ts';
import { catalogue, type FactOf } from '../../../events/catalogue.ts';
import type { StreamName } from '../../../events/streams.ts';

/** What following needs of the log. */
export type PoolLog = Readonly<{
  follow: (
    stream: StreamName,
    after: number,
    options: { signal: AbortSignal },
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
  signal: AbortSignal;
}>;

/**
 * Follows all submissions and their fates.
 *
 * Of what the stream holds already only submissions without a fate are passed on, so that a start reads no transaction
 * that is settled.
 */
export async function followPool(log: PoolLog, { onSubmitted, onFate, signal }: PoolFollower): Promise<void> {
  let backlog: Map<string, SubmissionSent> | undefined = new Map();
  for await (const { facts, behind } of log.follow('POOL', 0, { signal })) {
    for (const { fact } of facts) {
      if (!isSubmissionFact(fact)) continue;
      const { hash } = fact.data;
      if (isSent(fact)) await (backlog ? void backlog.set(hash, fact) : onSubmitted(fact));
      else if (backlog) backlog.delete(hash);
      else onFate(fact);
    }
    if (backlog === undefined || behind > 0) continue;
    for (const sent of backlog.values()) await onSubmitted(sent);
    backlog = undefined;
  }
}

const isSubmissionFact = (fact: Recorded['fact']): fact is SubmissionFact => catalogue[fact.type].kind === 'submission';

const isSent = (fact: SubmissionFact): fact is SubmissionSent =>
  fact.type === 'EvmTransactionSubmitted' || fact.type === 'CosmosTransactionSubmitted';
