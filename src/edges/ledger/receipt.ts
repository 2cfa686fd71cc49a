import type { SentTransaction } from '../chain/sign/transaction-codec.ts';
import { AppError } from '../../kit/errors.ts';
import type { Refusal } from '../../commands/ledger/ante.ts';

/** Where a transaction ended up. */
export type TransactionResult = Readonly<{ hash: string; height: number; code: number }>;

/** The pool's answer to a sent transaction: refused at once, or waiting for its block. */
export type Submitted = Readonly<{ refusal: Refusal } | { sealed: Promise<TransactionResult> }>;

/** No further transaction may wait. */
export const fullPool: Refusal = { code: 20, log: 'mempool is full' };

/** Refusal of a transaction that fits no block even alone. */
export const tooLarge: Refusal = { code: 21, log: 'what the transaction does fits no block: tx too large' };

/** A refusal as an error, for a caller that waits for a block. */
export function refusedError({ code, log }: Refusal): AppError {
  return new AppError('INVALID_ARGUMENT', `The ledger takes no such transaction: ${log} (code ${code})`);
}

/** A transaction of the chain's own kind that waits for a block. */
export type WaitingTransaction = Readonly<{
  sent: SentTransaction;
  /** Of its block, in unix milliseconds; undefined means as soon as possible. */
  at: number | undefined;
  settled: PromiseWithResolvers<TransactionResult>;
}> & {
  /** Whether a block may take it: what has no time of its own has to lie in the log first. */
  isLogged: boolean;
};
