import { type JsonText, LongList } from '../../json-rpc/long-list.ts';
import { quantity as hex } from '../executor/block-forms.ts';
import type { ExecutedLog } from '../executor/outcome.ts';
import type { BlockHead, ChainBlocks, ChainReceipt, ReceiptForm } from './chain-blocks.ts';
import { formOfLog, logForms } from './log-form.ts';
import type { BlockContents } from './news.ts';

/** What blocks hold, as it is shown. */
export function contentsOf(blocks: Pick<ChainBlocks, 'logs' | 'receiptForms'>): BlockContents {
  return {
    receipts: (head) => blocks.receiptForms(head),
    logs: async ({ number }) => {
      const logs = await blocks.logs({ from: number, to: number, addresses: [], topics: [] });
      return 'exceeds' in logs ? [] : logs.map(formOfLog);
    },
  };
}

/** A receipt as `eth_getTransactionReceipt` shows it. */
export function receiptForm(head: BlockHead, receipt: ChainReceipt): ReceiptForm {
  const { index: transactionIndex, firstLog, hash: transactionHash } = receipt;
  const position = { blockNumber: head.number, blockHash: head.hash, timestamp: head.fields.timestamp };
  const show = logForms({ ...position, transactionHash, transactionIndex });
  return receiptFormWith(new LongList(receipt.logs, (log, at) => show(log, firstLog + at)), head, receipt);
}

/** The same with logs that have their form already. */
export function receiptFormWith(
  logs: LongList<ExecutedLog> | JsonText,
  { number, hash: blockHash }: BlockHead,
  receipt: Omit<ChainReceipt, 'logs'>,
): ReceiptForm {
  const { index, succeeded, stateRoot, blobGas } = receipt;
  return {
    blockHash,
    blockNumber: hex(number),
    contractAddress: receipt.contractAddress ?? null,
    cumulativeGasUsed: hex(receipt.cumulativeGasUsed),
    effectiveGasPrice: hex(receipt.effectiveGasPrice),
    from: receipt.from,
    gasUsed: hex(receipt.gasUsed),
    logs,
    logsBloom: receipt.logsBloom,
    to: receipt.to ?? null,
    transactionHash: receipt.hash,
    transactionIndex: hex(index),
    type: hex(receipt.type),
    ...(stateRoot === undefined ? { status: succeeded === true ? '0x1' : '0x0' } : { root: stateRoot }),
    ...(blobGas && { blobGasPrice: hex(blobGas.price), blobGasUsed: hex(blobGas.used) }),
  };
}
