import { bytesToHex, hexToBytes } from '@ethereumjs/util';
import { Bloom, encodeReceipt } from '@ethereumjs/vm';
import { createYielding } from '../../../kit/yielding.ts';
import type { ReceiptLogRow, ReceiptLogsText } from '../../../projections/chain/log-queries.ts';
import type { TransactionRow } from '../../../projections/chain/queries.ts';
import type { ExecutedLog, Hex } from '../executor/outcome.ts';
import { JsonText } from '../../json-rpc/long-list.ts';
import { receiptFormWith } from './block-contents.ts';
import type { BlockHead, ChainReceipt, ReceiptForm } from './chain-blocks.ts';

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
    const bloom = head.transactions === 1 ? head.fields.logsBloom : await bloomOf(partsOf(own));
    receipts.push({ ...receiptOf(row, bytesToHex(bloom)), logs: own });
  }
  return receipts;
}

/** The same as JSON-RPC shows them, with the text of their logs among `texts`. */
export async function receiptFormsOfRows(
  head: BlockHead,
  rows: readonly TransactionRow[],
  texts: readonly ReceiptLogsText[],
): Promise<readonly ReceiptForm[]> {
  const byTransaction = new Map(texts.map((one) => [one.transaction_place, one]));
  const forms: ReceiptForm[] = [];
  for (const row of rows) {
    const { text = '', parts = [] } = byTransaction.get(row.place) ?? {};
    const bloom = head.transactions === 1 ? head.fields.logsBloom : await bloomOf(parts);
    forms.push(receiptFormWith(new JsonText(`[${text}]`), head, receiptOf(row, bytesToHex(bloom))));
  }
  return forms;
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

function receiptOf(row: TransactionRow, logsBloom: Hex): Omit<ChainReceipt, 'logs'> {
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
    logsBloom,
    index: row.place,
    firstLog: row.first_log,
  };
}

function executedLog({ address, topic0, topic1, topic2, topic3, data }: ReceiptLogRow): ExecutedLog {
  return { address, topics: [topic0, topic1, topic2, topic3].filter((topic) => topic !== null), data };
}

/** The address of a contract and the topics of its events occur again and again: each is hashed once. */
function partsOf(logs: readonly ExecutedLog[]): ReadonlySet<Hex> {
  const parts = new Set<Hex>();
  for (const { address, topics } of logs) {
    parts.add(address);
    for (const topic of topics) parts.add(topic);
  }
  return parts;
}

async function bloomOf(parts: Iterable<Hex>): Promise<Uint8Array> {
  const bloom = new Bloom();
  const rest = createYielding();
  for (const part of parts) {
    await rest();
    bloom.add(hexToBytes(part));
  }
  return bloom.bitvector;
}
