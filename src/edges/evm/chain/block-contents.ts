import { createYielding } from '../../../kit/yielding.ts';
import { LongList } from '../../json-rpc/long-list.ts';
import { quantity as hex } from '../executor/block-forms.ts';
import type { ChainBlocks, BlockHead, ChainReceipt } from './chain-blocks.ts';
import { formOfLog, logForms } from './log-form.ts';
import type { BlockContents, ReceiptForm } from './news.ts';

/** What blocks hold, as it is shown. */
export function contentsOf(blocks: Pick<ChainBlocks, 'logs' | 'receipts'>): BlockContents {
  return {
    receipts: (head) => receiptsOf(blocks, head),
    logs: async ({ number }) => {
      const logs = await blocks.logs({ from: number, to: number, addresses: [], topics: [] });
      return 'exceeds' in logs ? [] : logs.map(formOfLog);
    },
  };
}

/** A receipt as `eth_getTransactionReceipt` shows it. */
export function receiptForm({ number, hash: blockHash, fields }: BlockHead, receipt: ChainReceipt): ReceiptForm {
  const { index, firstLog, succeeded, stateRoot, blobGas } = receipt;
  const position = { blockNumber: number, blockHash, timestamp: fields.timestamp };
  const show = logForms({ ...position, transactionHash: receipt.hash, transactionIndex: index });
  return {
    blockHash,
    blockNumber: hex(number),
    contractAddress: receipt.contractAddress ?? null,
    cumulativeGasUsed: hex(receipt.cumulativeGasUsed),
    effectiveGasPrice: hex(receipt.effectiveGasPrice),
    from: receipt.from,
    gasUsed: hex(receipt.gasUsed),
    logs: new LongList(receipt.logs, (log, at) => show(log, firstLog + at)),
    logsBloom: receipt.logsBloom,
    to: receipt.to ?? null,
    transactionHash: receipt.hash,
    transactionIndex: hex(index),
    type: hex(receipt.type),
    ...(stateRoot === undefined ? { status: succeeded === true ? '0x1' : '0x0' } : { root: stateRoot }),
    ...(blobGas && { blobGasPrice: hex(blobGas.price), blobGasUsed: hex(blobGas.used) }),
  };
}

/** The receipts of a block, in the order of its transactions. */
export async function receiptsOf(blocks: Pick<ChainBlocks, 'receipts'>, head: BlockHead): Promise<ReceiptForm[]> {
  const forms: ReceiptForm[] = [];
  const rest = createYielding();
  for (const receipt of await blocks.receipts(head)) {
    await rest();
    forms.push(receiptForm(head, receipt));
  }
  return forms;
}
