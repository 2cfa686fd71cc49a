import { Command, type Decider } from '../decider.ts';

/** A transaction of the virtual machine as it was sent. */
export type Submission = Readonly<{
  hash: string;
  /** Base64. */
  raw: string;
  /** RFC 3339, UTC. */
  at: string;
}>;

/** Every transaction is submitted once, however often it is sent. */
export const submitting: Decider<Submission, boolean, 'submission'> = {
  kind: 'submission',
  initialState: false,
  after: () => true,
  decide: ({ hash, raw, at }, isSubmitted) =>
    isSubmitted ? [] : [{ type: 'EvmTransactionSubmitted', data: { hash, raw, at } }],
};

/** Transactions of the virtual machine that somebody sends. */
export class SubmitTransactions extends Command<Submission, boolean> {}
