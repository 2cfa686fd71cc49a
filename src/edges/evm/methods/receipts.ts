import { Type } from 'typebox';
import type { ChainBlock } from '../chain/chain-blocks.ts';
import { quantity as hex } from '../executor/block-forms.ts';
import { address, blockId, hash, quantity } from '../rpc/forms.ts';
import { type Method, method } from '../rpc/registry.ts';
import { blockOf } from './block-of.ts';
import { findLogs, type LogForm, logFilter, logsOf } from './logs.ts';

const receipt = Type.Object({ transactionHash: hash, blockHash: hash, cumulativeGasUsed: quantity });

/** A receipt as `eth_getTransactionReceipt` shows it. */
function receiptForm(of: ChainBlock, index: number, logs: readonly LogForm[]): unknown {
  const executed = of.executed[index];
  if (!executed) return null;
  const { succeeded, stateRoot, blobGas, to, contractAddress } = executed;
  return {
    blockHash: of.hash,
    blockNumber: hex(of.number),
    contractAddress: contractAddress ?? null,
    cumulativeGasUsed: hex(executed.cumulativeGasUsed),
    effectiveGasPrice: hex(executed.effectiveGasPrice),
    from: executed.from,
    gasUsed: hex(executed.gasUsed),
    logs,
    logsBloom: executed.logsBloom,
    to: to ?? null,
    transactionHash: executed.hash,
    transactionIndex: hex(index),
    type: hex(executed.type),
    ...(stateRoot === undefined ? { status: succeeded === true ? '0x1' : '0x0' } : { root: stateRoot }),
    ...(blobGas && { blobGasPrice: hex(blobGas.price), blobGasUsed: hex(blobGas.used) }),
  };
}

/** The receipts of a block, in the order of its transactions. */
export function receiptsOf(of: ChainBlock): unknown[] {
  const logs = logsOf(of);
  return of.executed.map((_, index) => receiptForm(of, index, logs[index] ?? []));
}

/** Methods that show what came of transactions. */
export const receiptMethods: readonly Method[] = [
  method({
    name: 'eth_getTransactionReceipt',
    namespace: 'eth',
    summary: 'What came of a transaction',
    params: [{ name: 'transaction hash', schema: hash }],
    result: Type.Union([Type.Null(), receipt]),
    handler: async ({ blocks }, wanted) => {
      const found = await blocks.ofTransaction(wanted);
      return found && receiptForm(found.block, found.index, logsOf(found.block)[found.index] ?? []);
    },
  }),
  method({
    name: 'eth_getBlockReceipts',
    namespace: 'eth',
    summary: 'What came of all transactions of a block',
    params: [{ name: 'block', schema: blockId }],
    result: Type.Union([Type.Null(), Type.Array(receipt)]),
    handler: async (context, id) => {
      const found = await blockOf(context, id);
      return found && receiptsOf(found);
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
