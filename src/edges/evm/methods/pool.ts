import { type Address, hexToBytes } from '@ethereumjs/util';
import type { TypedTransaction } from '@ethereumjs/tx';
import { Type } from 'typebox';
import { quantity as hex, transactionForm } from '../executor/block-forms.ts';
import * as forms from '../rpc/forms.ts';
import { type Method, method } from '../rpc/registry.ts';
import { stateBlock } from './block-of.ts';

const waiting = Type.Record(Type.String(), Type.Unknown());

/** Transactions by their nonce in decimal. */
const byNonce = (list: readonly TypedTransaction[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(list.map((tx) => [tx.nonce.toString(), transactionForm(tx)]));

function bySender(list: readonly TypedTransaction[]): Readonly<Record<string, unknown>> {
  const senders = Map.groupBy(list, (tx) => tx.getSenderAddress().toString());
  return Object.fromEntries([...senders].map(([sender, own]) => [sender, byNonce(own)]));
}

/** The same, each in a line of text as go-ethereum writes it. */
function inLines(list: readonly TypedTransaction[]): Readonly<Record<string, unknown>> {
  const line = (tx: TypedTransaction): string => {
    const price = 'maxFeePerGas' in tx ? tx.maxFeePerGas : tx.gasPrice;
    return `${tx.to?.toString() ?? 'contract creation'}: ${tx.value} wei + ${tx.gasLimit} gas × ${price} wei`;
  };
  const senders = Map.groupBy(list, (tx) => tx.getSenderAddress().toString());
  return Object.fromEntries(
    [...senders].map(([sender, own]) => [sender, Object.fromEntries(own.map((tx) => [tx.nonce.toString(), line(tx)]))]),
  );
}

const isFrom = (sender: Address, address: string): boolean => sender.toString() === address.toLowerCase();

/** Methods of transactions that wait, and of blocks that are built for show. */
export const poolMethods: readonly Method[] = [
  method({
    name: 'eth_sendRawTransaction',
    namespace: 'eth',
    summary: 'Takes in a signed transaction and says its hash',
    params: [{ name: 'transaction', schema: forms.bytes }],
    result: forms.hash,
    handler: async ({ pool }, raw) => await pool.submit(hexToBytes(raw)),
  }),
  method({
    name: 'txpool_status',
    namespace: 'txpool',
    summary: 'How many transactions wait',
    params: [],
    result: Type.Object({ pending: forms.quantity, queued: forms.quantity }),
    handler: ({ pool }) => ({ pending: hex(pool.pending().length), queued: hex(pool.queued().length) }),
  }),
  method({
    name: 'eth_pendingTransactions',
    namespace: 'eth',
    summary: 'The waiting transactions of accounts whose keys are here: none, no key is',
    params: [],
    result: Type.Array(waiting),
    handler: () => [],
  }),
  method({
    name: 'txpool_inspect',
    namespace: 'txpool',
    summary: 'The transactions that wait, each in a line of text, by sender and nonce',
    params: [],
    result: Type.Object({ pending: waiting, queued: waiting }),
    handler: ({ pool }) => ({ pending: inLines(pool.pending()), queued: inLines(pool.queued()) }),
  }),
  method({
    name: 'txpool_content',
    namespace: 'txpool',
    summary: 'The transactions that wait, by sender and nonce',
    params: [],
    result: Type.Object({ pending: waiting, queued: waiting }),
    handler: ({ pool }) => ({ pending: bySender(pool.pending()), queued: bySender(pool.queued()) }),
  }),
  method({
    name: 'txpool_contentFrom',
    namespace: 'txpool',
    summary: 'The transactions of an account that wait, by nonce',
    params: [{ name: 'address', schema: forms.address }],
    result: Type.Object({ pending: waiting, queued: waiting }),
    handler: ({ pool }, address) => ({
      pending: byNonce(pool.pending().filter((tx) => isFrom(tx.getSenderAddress(), address))),
      queued: byNonce(pool.queued().filter((tx) => isFrom(tx.getSenderAddress(), address))),
    }),
  }),
  method({
    name: 'testing_buildBlockV1',
    namespace: 'testing',
    summary: 'A block as it would be built, which changes nothing',
    params: [
      { name: 'parent hash', schema: forms.hash },
      {
        name: 'attributes',
        schema: Type.Object({
          timestamp: forms.quantity,
          prevRandao: forms.hash,
          suggestedFeeRecipient: forms.address,
          withdrawals: Type.Array(forms.withdrawals.items),
          parentBeaconBlockRoot: forms.hash,
        }),
      },
      { name: 'transactions', schema: Type.Union([Type.Array(forms.bytes), Type.Null()]), optional: true },
      { name: 'extra data', schema: forms.slotKey, optional: true },
    ],
    result: Type.Object({ executionPayload: Type.Unknown(), blockValue: forms.quantity }),
    handler: async (context, parent, attributes, transactions, extraData = '0x') => {
      const { header } = await stateBlock(context, parent);
      const input = transactions ?? undefined;
      const pending = context.pool.pending().map((tx) => `0x${Buffer.from(tx.serialize()).toString('hex')}` as const);
      return await context.reads.read('buildPayload', {
        ...attributes,
        at: header,
        transactions: input ?? pending,
        lenient: input === undefined,
        extraData,
      });
    },
  }),
];
