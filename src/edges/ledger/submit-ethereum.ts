import { AppError } from '../../kit/errors.ts';
import { SubmitTransactions } from '../../commands/ledger/submit.ts';
import { dispatch } from '../bus.ts';
import { readTransaction } from '../evm/pool/read-transaction.ts';
import { poll } from '../../kit/repeat.ts';
import type { Chain } from './chain.ts';
import { chainHash } from './ethereum-transactions.ts';
import type { LedgerLog } from './log-fold.ts';
import type { TransactionResult } from './receipt.ts';

const withinMs = 60_000;
const checkEachMs = 100;

/** Submits a transaction of the virtual machine and waits for the block that takes it. */
export async function submitEthereum(
  { chain, log, signal }: Readonly<{ chain: Chain; log: LedgerLog; signal: AbortSignal }>,
  raw: Uint8Array,
): Promise<TransactionResult> {
  const now = Date.now();
  const { hash } = readTransaction(raw, chain.evm.bounds, now);
  const at = new Date(now).toISOString();
  const submission = { kind: 'evm', hash, raw: Buffer.from(raw).toString('base64'), at } as const;
  await dispatch(log, new SubmitTransactions(new Map([[hash, submission]]), { at }));
  const sealed = await poll(() => chain.recentTransaction(chainHash(hash)), {
    everyMs: checkEachMs,
    withinMs,
    signal,
  });
  if (sealed) return { hash: sealed.hash, height: sealed.height, code: sealed.code };
  throw new AppError(signal.aborted ? 'UNAVAILABLE' : 'DEADLINE', `No block has taken transaction ${hash} yet`);
}
