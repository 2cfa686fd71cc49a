import type { Ledger } from '../ledger/run-ledger.ts';
import { signedTransaction } from '../cosmos/wallet.ts';
import { denom } from './beginning.ts';
import type { RealNode } from './cast.ts';
import { registration } from './deeds.ts';

/**
 * Puts SuperNodes on the chain that are not there yet, each by a transaction of its operator; resolves once they are.
 *
 * On a new chain their blocks are as old as the chain, before anything else.
 */
export async function registerNodes(ledger: Ledger, nodes: readonly RealNode[]): Promise<void> {
  const { chainId, startedAt, transactions } = ledger.status();
  const at = transactions === 0 ? Date.parse(startedAt) : undefined;
  const sent = nodes.map(async (node) => {
    const signing = ledger.signerInfo(node.operator.account);
    if (!signing || signing.sequence > 0) return;
    await ledger.submit(signedTransaction(node.operator.key, [registration(node)], { chainId, denom, ...signing }), at);
  });
  await Promise.all(sent);
}
