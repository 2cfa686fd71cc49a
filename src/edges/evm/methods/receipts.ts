import { Type } from 'typebox';
import { receiptForm, receiptsOf } from '../chain/block-contents.ts';
import { address, blockId, hash, quantity } from '../rpc/forms.ts';
import { type Method, method } from '../rpc/registry.ts';
import { blockOf } from './block-of.ts';
import { findLogs, logFilter } from './logs.ts';

const receiptSchema = Type.Object({ transactionHash: hash, blockHash: hash, cumulativeGasUsed: quantity });

/** Methods that show the results of transactions. */
export const receiptMethods: readonly Method[] = [
  method({
    name: 'eth_getTransactionReceipt',
    namespace: 'eth',
    summary: 'What came of a transaction',
    params: [{ name: 'transaction hash', schema: hash }],
    result: Type.Union([Type.Null(), receiptSchema]),
    handler: async ({ blocks }, wanted) => {
      const match = await blocks.ofTransaction(wanted);
      const [receipt] = match ? await blocks.receipts(match.head, match.index) : [];
      return match && receipt && receiptForm(match.head, receipt);
    },
  }),
  method({
    name: 'eth_getBlockReceipts',
    namespace: 'eth',
    summary: 'What came of all transactions of a block',
    params: [{ name: 'block', schema: blockId }],
    result: Type.Union([Type.Null(), Type.Array(receiptSchema)]),
    handler: async (context, id) => {
      const hit = await blockOf(context, id);
      return hit && (await receiptsOf(context.blocks, hit));
    },
  }),
  method({
    name: 'eth_getLogs',
    namespace: 'eth',
    summary: 'Logs by block, address and topics',
    params: [{ name: 'filter', schema: logFilter }],
    result: Type.Array(Type.Object({ address, topics: Type.Array(hash) })),
    handler: findLogs,
  }),
];
