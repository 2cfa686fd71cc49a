import { bytesToHex, hexToBytes } from '@ethereumjs/util';
import { Bloom, encodeReceipt } from '@ethereumjs/vm';
import { createYielding } from '../../../kit/yielding.ts';
import type { ReceiptLogRow } from '../../../projections/chain/log-queries.ts';
import type { TransactionRow } from '../../../projections/chain/queries.ts';
import type { ExecutedLog, Hex } from '../executor/outcome.ts';
import type { BlockHead, ChainReceipt } from './chain-blocks.ts';

/**
 * Receipts of rows, with the logs of theirs among `logs`.
 *
 * The bloom of a block's only transaction is the header's; others are made of their logs. Other requests are answered
 * meanwhile.
 */
export async function receiptsOfRows(
  head: BlockHead,
  rows: readonly TransactionRow[],
  logs: readonly ReceiptLogRow[],
): Promise<readonly ChainReceipt[]> {
  const byTransaction = Map.groupBy(logs, ({ transaction_place: position }) => position);
  const receipts: ChainReceipt[] = [];
  const rest = createYielding();
  for (const row of rows) {
    await rest();
    const own = (byTransaction.get(row.place) ?? []).map(executedLog);
    const bloom = head.transactions === 1 ? head.fields.logsBloom : await bloomOf(own);
    receipts.push(receiptOf(row, own, bytesToHex(bloom)));
  }
  return receipts;
}

/** A receipt as the receipts' root counts it; one of before Byzantium holds the state's root. */
export function encodedReceipt({
  type,
  succeeded,
  stateRoot,
  cumulativeGasUsed,
  logsBloom,
  logs,
}: ChainReceipt): Uint8Array {
  const common = {
    cumulativeBlockGasUsed: cumulativeGasUsed,
    bitvector: hexToBytes(logsBloom),
    logs: logs.map(({ address, topics, data }): [Uint8Array, Uint8Array[], Uint8Array] => [
      hexToBytes(address),
      topics.map((topic) => hexToBytes(topic)),
      hexToBytes(data),
    ]),
  };
  const outcome =
    stateRoot === undefined
      ? { status: succeeded === true ? (1 as const) : (0 as const) }
      : { stateRoot: hexToBytes(stateRoot) };
  return encodeReceipt({ ...common, ...outcome }, type as 0 | 1 | 2 | 3 | 4);
}

function receiptOf(row: TransactionRow, logs: readonly ExecutedLog[], logsBloom: Hex): ChainReceipt {
  return {
    hash: row.hash,
    type: row.type,
    from: row.sender,
    to: row.recipient ?? undefined,
    contractAddress: row.contract ?? undefined,
    succeeded: row.succeeded,
    stateRoot: undefined,
    gasUsed: BigInt(row.gas_used),
    cumulativeGasUsed: BigInt(row.cumulative_gas_used),
    effectiveGasPrice: BigInt(row.effective_gas_price),
    blobGas: undefined,
    logs,
    logsBloom,
    index: row.place,
    firstLog: row.first_log,
  };
}

function executedLog({ address, topic0, topic1, topic2, topic3, data }: ReceiptLogRow): ExecutedLog {
  return { address, topics: [topic0, topic1, topic2, topic3].filter((topic) => topic !== null), data };
}

/** The address of a contract and the topics of its events occur again and again: each is hashed once. */
async function bloomOf(logs: readonly ExecutedLog[]): Promise<Uint8Array> {
  const bloom = new Bloom();
  const parts = new Set<Hex>();
  for (const { address, topics } of logs) {
    parts.add(address);
    for (const topic of topics) parts.add(topic);
  }
  const rest = createYielding();
  for (const part of parts) {
    await rest();
    bloom.add(hexToBytes(part));
  }
  return bloom.bitvector;
}
