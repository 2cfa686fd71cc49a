import type { Common } from '@ethereumjs/common';
import type { Changes } from '../../commands/ledger/chain.ts';
import type { Fact } from '../../events/catalogue.ts';
import { distance } from '../chain/sign/addresses.ts';
import { sentIn } from '../chain/sign/transaction-codec.ts';
import { carryOut } from './carry-out.ts';
import { receiptChanges, withSenderKey } from './ethereum-transactions.ts';
import { rawTransactions } from './evm-block.ts';
import type { History } from './history.ts';

type Sealed = Fact<'BlockSealed'>['data'];

/** The rules' result for a block of the log; fails where it differs from the log. */
export function replayRules(history: History, { height, time, transactions }: Sealed): readonly Changes[] {
  const pending = transactions.map((stored) => sentIn(stored));
  const block = { height, time, distance };
  const { executed, changes } = carryOut(history.state, { block, pending, isDraft: false });
  for (const [index, { hash, code }] of transactions.entries())
    if (executed[index]?.code !== code)
      throw new Error(`Transaction ${hash} of block ${height} was sealed under other rules (annals reset begins anew)`);
  return changes;
}

/** Applies the rules' changes of a block, then those of its transactions of the virtual machine. */
export function applyBlock(
  history: History,
  { height, evm }: Sealed,
  { changes, common }: Readonly<{ changes: readonly Changes[]; common: () => Common }>,
): void {
  for (const one of changes) history.apply(height, one);
  for (const [index, receipt] of (evm?.receipts ?? []).entries()) {
    const changed = receiptChanges(history.state, receipt);
    const sentAs = () => ({
      raw: rawTransactions(Buffer.from(evm?.block ?? '', 'base64'))[index] ?? new Uint8Array(),
      common: common(),
    });
    history.apply(height, withSenderKey(changed, receipt, sentAs));
  }
}
