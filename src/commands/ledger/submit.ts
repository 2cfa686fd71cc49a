import type { FactOf } from '../../events/catalogue.ts';
import { Command, type Decider } from '../decider.ts';

/** A transaction as it was sent, of either kind. */
export type Submission = Readonly<{
  kind: 'evm' | 'cosmos';
  /** EVM: `0x` and lower-case hex; the chain's own kind: upper-case hex. */
  hash: string;
  /** Base64. */
  raw: string;
  /** RFC 3339, UTC. */
  at: string;
}>;

/** The fate of a submission. */
export type Fate =
  | Readonly<{ kind: 'sealed'; height: number }>
  /** `by` is the hash of the transaction that took its nonce. */
  | Readonly<{ kind: 'replaced'; by: string }>
  | Readonly<{ kind: 'expired' }>
  /** `code` is the chain's for its own kind of transactions, else 0. */
  | Readonly<{ kind: 'dropped'; reason: string; code: number }>;

/** A submission and its fate; `at` is when that was decided (RFC 3339, UTC). */
export type SettledSubmission = Fate & Readonly<{ hash: string; at: string }>;

/** The state of a submission in its life cycle: `gone` may be sent again, `sealed` never. */
export type SubmissionState = 'unknown' | 'waiting' | 'sealed' | 'gone';

function stateAfter({ type }: FactOf<'submission'>): SubmissionState {
  switch (type) {
    case 'EvmTransactionSubmitted':
    case 'CosmosTransactionSubmitted':
      return 'waiting';
    case 'SubmissionSealed':
      return 'sealed';
    case 'SubmissionReplaced':
    case 'SubmissionExpired':
    case 'SubmissionDropped':
      return 'gone';
  }
}

const life = { kind: 'submission', initialState: 'unknown', after: stateAfter } as const;

/** A transaction is submitted once, however often it is sent, unless what was submitted before is gone. */
export const submitting: Decider<Submission, SubmissionState, 'submission'> = {
  ...life,
  decide: ({ kind, ...data }, state) => {
    if (state === 'waiting' || state === 'sealed') return [];
    return [{ type: kind === 'evm' ? 'EvmTransactionSubmitted' : 'CosmosTransactionSubmitted', data }];
  },
};

/** Every submission has one fate, and the sealer decides it. */
export const settling: Decider<SettledSubmission, SubmissionState, 'submission'> = {
  ...life,
  decide: (fate, state) => (state === 'waiting' ? [settled(fate)] : []),
};

function settled({ hash, at, ...fate }: SettledSubmission): FactOf<'submission'> {
  switch (fate.kind) {
    case 'sealed':
      return { type: 'SubmissionSealed', data: { hash, height: fate.height, at } };
    case 'replaced':
      return { type: 'SubmissionReplaced', data: { hash, by: fate.by, at } };
    case 'expired':
      return { type: 'SubmissionExpired', data: { hash, at } };
    case 'dropped':
      return { type: 'SubmissionDropped', data: { hash, reason: fate.reason, code: fate.code, at } };
  }
}

/** Transactions that callers send. */
export class SubmitTransactions extends Command<Submission, SubmissionState> {}

/** Records the fates of submissions. */
export class SettleSubmissions extends Command<SettledSubmission, SubmissionState> {}
