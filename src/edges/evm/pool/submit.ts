import { AppError } from '../../../kit/errors.ts';
import type { PoolAccount } from '../../../commands/ledger/pool.ts';
import { type Submission, SubmitTransactions } from '../../../commands/ledger/submit.ts';
import type { TransactionPool } from '../../../commands/ledger/transaction-pool.ts';
import type { FactLog } from '../../../commands/ports.ts';
import { dispatch } from '../../bus.ts';
import { readTransaction, type SignedTransaction, type TransactionBounds } from './read-transaction.ts';

/** What submitting needs. */
export type Submitting = Readonly<{
  log: FactLog;
  pool: TransactionPool<SignedTransaction>;
  bounds: TransactionBounds;
  /** Of an address at the head. */
  account: (address: string) => Promise<PoolAccount>;
  /** Unix milliseconds. */
  now: () => number;
}>;

/**
 * Takes a transaction in for good: checks it, and answers once the broker has it.
 *
 * Sent again while it waits, it is answered again, and not before the broker has what was sent first; once it is in a
 * block, it is refused, and one that was dropped is submitted anew. Fails with `CONFLICT` in words that wallets know.
 */
export async function submitTransaction(
  { log, pool, bounds, account, now }: Submitting,
  raw: Uint8Array,
): Promise<SignedTransaction> {
  const at = now();
  const sent = readTransaction(raw, bounds, at);
  const admission = { account: await account(sent.sender), ...bounds };
  // The head may include it already while the fate is still under way.
  if (sent.nonce < admission.account.nonce)
    throw new AppError('CONFLICT', `nonce too low: next nonce ${admission.account.nonce}, tx nonce ${sent.nonce}`);
  const answer = pool.admit(sent, admission);
  if (answer.kind === 'refused') throw new AppError('CONFLICT', answer.reason);
  const { hash } = sent;
  const submission = submissionOf(sent);
  const time = submission.at;
  try {
    const { states } = await dispatch(log, new SubmitTransactions(new Map([[hash, submission]]), { at: time }));
    if (states.get(hash)?.state === 'sealed') throw new AppError('CONFLICT', 'already known: a block holds it');
    return sent;
  } catch (caught) {
    if (answer.kind === 'admitted') {
      pool.remove(hash);
      if (answer.replaced) pool.admit(answer.replaced, admission);
      await admitAgain({ pool, bounds, account }, answer.evicted);
    }
    throw caught;
  }
}

/** Admits once more what had made room; one whose account cannot be read now waits at the sealer all the same. */
async function admitAgain(
  { pool, bounds, account }: Pick<Submitting, 'pool' | 'bounds' | 'account'>,
  evicted: readonly SignedTransaction[],
): Promise<void> {
  for (const one of evicted) {
    const of = await account(one.sender).catch(() => undefined);
    if (of) pool.admit(one, { account: of, ...bounds });
  }
}

/** The submissions of all that wait in a pool. */
export function submissionsIn(pool: TransactionPool<SignedTransaction>): readonly Submission[] {
  return [...pool.pending(), ...pool.queued()].map(submissionOf);
}

const submissionOf = ({ hash, transaction, submittedAt }: SignedTransaction): Submission =>
  submissionFrom('evm', { hash, bytes: transaction.serialize(), atMs: submittedAt });

/** The submission of a transaction's bytes, now or at another time (unix milliseconds). */
export function submissionFrom(
  kind: Submission['kind'],
  { hash, bytes, atMs = Date.now() }: Readonly<{ hash: string; bytes: Uint8Array; atMs?: number }>,
): Submission {
  return { kind, hash, raw: Buffer.from(bytes).toString('base64'), at: new Date(atMs).toISOString() };
}
