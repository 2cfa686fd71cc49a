import { AppError } from '../../../commands/errors.ts';
import type { PoolAccount } from '../../../commands/ledger/pool.ts';
import { SubmitTransactions } from '../../../commands/ledger/submit.ts';
import type { FactLog } from '../../../commands/ports.ts';
import { dispatch } from '../../bus.ts';
import { readTransaction, type SignedTransaction, type TransactionBounds } from './read-transaction.ts';
import type { WaitingTransactions } from './waiting.ts';

/** What submitting needs. */
export type Submitting = Readonly<{
  log: FactLog;
  waiting: WaitingTransactions;
  bounds: TransactionBounds;
  /** Nonce and balance of an address at the head. */
  account: (address: string) => Promise<PoolAccount>;
  /** Unix milliseconds. */
  now: () => number;
}>;

/**
 * Takes a transaction in for good: checks it, and answers once the broker has it.
 *
 * Sent again while it waits, it is answered again. Fails with `CONFLICT` in words that wallets know.
 */
export async function submitTransaction(
  { log, waiting, bounds, account, now }: Submitting,
  raw: Uint8Array,
): Promise<SignedTransaction> {
  const at = now();
  const given = readTransaction(raw, bounds, at);
  if (waiting.get(given.hash)) return given;
  const reason = waiting.admit(given, { account: await account(given.sender), ...bounds });
  if (reason !== undefined) throw new AppError('CONFLICT', reason);
  const time = new Date(at).toISOString();
  const submission = { hash: given.hash, raw: Buffer.from(raw).toString('base64'), at: time };
  await dispatch(log, new SubmitTransactions(new Map([[given.hash, submission]]), { at: time })).catch(
    (caught: unknown) => {
      waiting.remove(given.hash);
      throw caught;
    },
  );
  return given;
}
