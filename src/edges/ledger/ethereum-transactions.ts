import type { Common } from '@ethereumjs/common';
import { createTxFromRLP } from '@ethereumjs/tx';
import type { Changes, LedgerState } from '../../commands/ledger/chain.ts';
import { ulumeOf } from '../../commands/ledger/coins.ts';
import { recordChanges, recordTable } from '../../commands/ledger/records.ts';
import { touchedChanges } from '../../commands/ledger/touched.ts';
import type { ChainEvent } from '../../commands/ledger/draft.ts';
import type { Fact } from '../../events/catalogue.ts';
import { ethereumEvents } from '../../projections/chain/search-terms.ts';
import { accountOfEvm } from '../chain/sign/addresses.ts';
import type { Body, SealedTransaction } from './blocks/blocks.ts';
import { rawTransactions } from './evm-block.ts';

type EvmBlock = NonNullable<Fact<'BlockSealed'>['data']['evm']>;
type Receipt = EvmBlock['receipts'][number];

/** Of the chain's coin; the local network knows no other. */
const denomination = 'ulume';

/** A transaction of the virtual machine among those of the chain, with its effects as events of the chain. */
export type EthereumSealed = Readonly<{ transaction: SealedTransaction; events: readonly ChainEvent[] }>;

/** The transactions of the virtual machine in a block, in their order. */
export function ethereumTransactions(
  { receipts }: EvmBlock,
  position: Pick<SealedTransaction, 'height' | 'time' | 'sequence'>,
): EthereumSealed[] {
  return receipts.map((receipt, index) => ({
    transaction: { hash: chainHash(receipt.hash), code: 0, log: '', ...position },
    events: eventsOf(receipt, index),
  }));
}

/** The content and effects of one of them; undefined where the block does not hold it. */
export function ethereumBody({ block, receipts }: EvmBlock, hash: string): Body | undefined {
  const index = receipts.findIndex((one) => chainHash(one.hash) === hash);
  const receipt = receipts[index];
  const raw = rawTransactions(Buffer.from(block, 'base64'))[index];
  if (!receipt || !raw) return undefined;
  const { from, effectiveGasPrice, error, gasLimit: gasWanted, gasUsed } = receipt;
  return {
    gasWanted,
    gasUsed,
    events: eventsOf(receipt, index),
    content: { kind: 'ethereum', raw, from, gasPrice: BigInt(effectiveGasPrice), error },
  };
}

/** The changes of the chain by a transaction of the virtual machine: accounts, and rows that its contracts wrote. */
export function receiptChanges(state: LedgerState, { touched, records }: Receipt): Changes {
  const accounts = touched.map(({ address, balance, nonce }) => ({
    address: accountOfEvm(address),
    balance: BigInt(balance),
    sequence: nonce,
  }));
  const rows = records.map(({ table, id, value }) => ({ table: recordTable(table), id, value }));
  const changed = recordChanges(state, rows);
  const after = touchedChanges({ ...state, tallies: changed.tallies }, accounts);
  return { ...after, actions: changed.actions, nodes: changed.nodes };
}

/** The key of a transaction's sender: the chain knows an account's key from its first transaction on. */
export function withSenderKey(changes: Changes, { from }: Receipt, sent: () => SentAs): Changes {
  const sender = changes.accounts.get(accountOfEvm(from));
  if (!sender || sender.publicKey) return changes;
  const { raw, common } = sent();
  const key = createTxFromRLP(raw, { common }).getSenderPublicKey();
  const compressed = Buffer.from([2 + ((key.at(-1) ?? 0) & 1), ...key.subarray(0, 32)]);
  const publicKey = { type: 'eth_secp256k1', key: compressed.toString('base64') } as const;
  return { ...changes, accounts: new Map([...changes.accounts, [sender.address, { ...sender, publicKey }]]) };
}

/** A transaction's bytes, and the rules that they are read by. */
export type SentAs = Readonly<{ raw: Uint8Array; common: Common }>;

/** The hash of a transaction of either kind as the chain's REST writes it. */
export function chainHash(hash: string): string {
  return hash.startsWith('0x') ? hash.slice(2).toUpperCase() : hash;
}

/** The chain's events of a transaction of the virtual machine. */
function eventsOf(receipt: Receipt, index: number): readonly ChainEvent[] {
  const { from, gasLimit, effectiveGasPrice } = receipt;
  const fee = `${ulumeOf(BigInt(gasLimit) * BigInt(effectiveGasPrice))}${denomination}`;
  return ethereumEvents(receipt, index, { account: accountOfEvm(from), fee });
}
