import { bytesToHex, hexToBytes } from '@ethereumjs/util';
import { createBlock } from '@ethereumjs/block';
import { LRUCache } from 'lru-cache';
import {
  BlockBody,
  BlockByHash,
  BlockByNumber,
  BlockOfTransaction,
  BlocksBetween,
  type HeadRow,
  LatestBlock,
  TransactionsOfBlock,
} from '../../../projections/chain/queries.ts';
import { blockOf } from '../../../projections/chain/rlp.ts';
import {
  LogsMatching,
  LogsOfReceipts,
  LogTextsOfReceipts,
  type LogRow,
} from '../../../projections/chain/log-queries.ts';
import type { Query } from '../../../projections/query.ts';
import { runQuery } from '../../bus.ts';
import type { Reader } from '../../../engine/models/read/reading.ts';
import { readBlock, readHeader } from '../executor/blocks.ts';
import type { Forks } from '../executor/forks.ts';
import type { Hex } from '../executor/outcome.ts';
import type { StateReads } from '../workers/state-reads.ts';
import type { ChainBlocks, ChainBody, BlockHead, ChainLog } from './chain-blocks.ts';
import { headOf } from './chain-blocks.ts';
import { openingItem } from './opening-item.ts';
import { receiptFormsOfRows, receiptsOfRows } from './read-receipts.ts';

/** Where blocks are read from: the read model, and the state for the first one, which is in no fact. */
export type BlockSources = Readonly<{
  reader: Pick<Reader, 'read'>;
  reads: Pick<StateReads, 'read'>;
  forks: Forks;
}>;

type Request = <Answer>(one: Query<unknown, Answer>) => Promise<Answer>;

const headsInMemory = 1_024;
/** RLP of bodies, which hold a few times as much once they are read. */
const bodyBytesInMemory = 16 * 1024 * 1024;

/** The blocks of the log, as its read model has them. */
export function readModelBlocks({ reader, reads, forks }: BlockSources): ChainBlocks {
  const query: Request = (one) => reader.read((reading) => runQuery(reading, one));
  const heads = headsBy(query, { reads, forks });
  const bodies = new LRUCache<string, ChainBody>({
    maxSize: bodyBytesInMemory,
    sizeCalculation: ({ rlp }) => rlp.length + 1_000,
  });
  const body = async (head: BlockHead): Promise<ChainBody> => {
    if (head.number === 0n) return firstBody(head, forks);
    const row = await query(new BlockBody({ number: Number(head.number) }));
    if (row === undefined) throw new Error(`The read model lost block ${head.number}`);
    const rlp = new Uint8Array(blockOf({ header: hexToBytes(row.header), body: hexToBytes(row.body) }));
    return { rlp, block: readBlock(rlp, forks), opening: row.opening ? openingItem(row.opening) : undefined };
  };
  return {
    ...heads,
    outline: async (head) => {
      const rows = head.transactions === 0 ? [] : await query(new TransactionsOfBlock({ number: Number(head.number) }));
      const transactions = rows.map(({ hash, sender: from, gas_used, effective_gas_price }) => ({
        hash,
        from,
        gasUsed: BigInt(gas_used),
        effectiveGasPrice: BigInt(effective_gas_price),
      }));
      return { transactions, uncles: [], withdrawals: [] };
    },
    body: async (head) => {
      const known = bodies.get(head.hash) ?? (await body(head));
      bodies.set(head.hash, known);
      return known;
    },
    receipts: async (head, position) => {
      if (head.transactions === 0) return [];
      const of = { number: Number(head.number), place: position };
      const [rows, logs] = await reader.read(async (reading) => [
        await runQuery(reading, new TransactionsOfBlock(of)),
        await runQuery(reading, new LogsOfReceipts(of)),
      ]);
      return await receiptsOfRows(head, rows, logs);
    },
    receiptForms: async (head, place) => {
      if (head.transactions === 0) return [];
      const of = { number: Number(head.number), place };
      const [rows, texts] = await reader.read(async (reading) => [
        await runQuery(reading, new TransactionsOfBlock(of)),
        await runQuery(reading, new LogTextsOfReceipts({ ...of, hash: head.hash, timestamp: head.fields.timestamp })),
      ]);
      return await receiptFormsOfRows(head, rows, texts);
    },
    logs: async ({ from, to, ...search }) => {
      const match = await query(new LogsMatching({ ...search, from: Number(from), to: Number(to) }));
      return 'exceeds' in match ? match : match.map(logOf);
    },
  };
}

type Heads = Pick<ChainBlocks, 'head' | 'height' | 'byNumber' | 'byHash' | 'between' | 'ofTransaction'>;

/** Heads by one short query each; decoded headers are cached by the block's hash. */
function headsBy(query: Request, { reads, forks }: Omit<BlockSources, 'reader'>): Heads {
  const known = new LRUCache<string, BlockHead>({ max: headsInMemory });
  let genesis: BlockHead | undefined;
  const first = async (): Promise<BlockHead> =>
    (genesis ??= firstHead(await reads.read('storedHeader', { number: 0n }), forks));
  const shown = (row: HeadRow): BlockHead => {
    const head = known.get(row.hash) ?? headOfRow(row, forks);
    known.set(row.hash, head);
    return head;
  };
  const byNumber: Heads['byNumber'] = async (number) => {
    if (number === 0n) return await first();
    if (number > BigInt(Number.MAX_SAFE_INTEGER)) return undefined;
    const row = await query(new BlockByNumber({ number: Number(number) }));
    return row && shown(row);
  };
  return {
    byNumber,
    head: async () => {
      const row = await query(new LatestBlock({}));
      return row ? shown(row) : await first();
    },
    height: async () => BigInt((await query(new LatestBlock({})))?.number ?? 0),
    byHash: async (hash) => {
      const head = known.get(hash.toLowerCase());
      if (head) return head;
      const row = await query(new BlockByHash({ hash: hash.toLowerCase() }));
      if (row) return shown(row);
      const beginning = await first();
      return beginning.hash === hash.toLowerCase() ? beginning : undefined;
    },
    between: async (from, to) => {
      const rows = await query(new BlocksBetween({ from: Number(from), to: Number(to) }));
      return [...(from === 0n ? [await first()] : []), ...rows.map(shown)];
    },
    ofTransaction: async (hash) => {
      const result = await query(new BlockOfTransaction({ hash: hash.toLowerCase() }));
      return result && { head: shown(result.block), index: result.place };
    },
  };
}

function headOfRow(
  { number, hash, header, transaction_count: transactions, size_bytes: sizeBytes }: HeadRow,
  forks: Forks,
): BlockHead {
  const stored = {
    number: BigInt(number),
    hash,
    header: new Uint8Array(Buffer.from(header.slice(2), 'hex')),
    transactions,
    sizeBytes,
  };
  return headOf(stored, (rlp) => readHeader(rlp, forks));
}

function firstHead(header: Uint8Array, forks: Forks): BlockHead {
  const fields = readHeader(header, forks);
  const { rlp } = firstBody({ fields }, forks);
  const stored = { number: 0n, hash: bytesToHex(fields.hash()), header, transactions: 0, sizeBytes: rlp.length };
  return headOf(stored, () => fields);
}

function firstBody({ fields }: Pick<BlockHead, 'fields'>, forks: Forks): ChainBody {
  const block = createBlock({ header: fields, withdrawals: [] }, { common: forks.at(fields) });
  return { block, rlp: block.serialize() };
}

function logOf(row: LogRow): ChainLog {
  const topics = [row.topic0, row.topic1, row.topic2, row.topic3].filter((topic) => topic !== null);
  return {
    address: row.address,
    topics,
    data: row.data,
    blockNumber: BigInt(row.number),
    blockHash: row.hash as Hex,
    timestamp: BigInt(row.timestamp),
    transactionHash: row.transaction,
    transactionIndex: row.transaction_place,
    logIndex: row.place,
  };
}
