import type { Block, BlockHeader } from '@ethereumjs/block';
import type { ExecutedLog, ExecutedTransaction, Hex } from '../executor/outcome.ts';
import type { AccountsItem } from '../executor/sealing.ts';

/** Head of a block: its fields without its transactions and their receipts. */
export type BlockHead = Readonly<{
  number: bigint;
  hash: Hex;
  /** RLP of its header. */
  header: Uint8Array;
  /** The header, decoded on first use. */
  fields: BlockHeader;
  /** How many transactions it holds. */
  transactions: number;
  /** Of RLP of all of it. */
  sizeBytes: number;
}>;

/** The transactions of a block with their complete contents. */
export type ChainBody = Readonly<{
  block: Block;
  /** RLP of all of it. */
  rlp: Uint8Array;
  /** State changes of the rules' transactions before the first one of its own. */
  opening?: AccountsItem | undefined;
}>;

/** A transaction of a block without its contents and effects. */
export type TransactionOutline = Pick<ExecutedTransaction, 'hash' | 'from' | 'gasUsed' | 'effectiveGasPrice'>;

/** A block without the contents of its transactions. */
export type BlockOutline = Readonly<{
  transactions: readonly TransactionOutline[];
  uncles: readonly Hex[];
  withdrawals: readonly unknown[];
}>;

/** The receipt of a transaction; `firstLog` counts the logs of its block before its own. */
export type ChainReceipt = Omit<ExecutedTransaction, 'receipt' | 'returned' | 'error'> &
  Readonly<{ index: number; firstLog: number }>;

/** A receipt as JSON-RPC shows it. */
export type ReceiptForm = Readonly<Record<string, unknown> & { transactionHash: string }>;

/** A log, and where it lies. */
export type ChainLog = ExecutedLog &
  Readonly<{
    blockNumber: bigint;
    blockHash: Hex;
    /** Seconds. */
    timestamp: bigint;
    transactionHash: Hex;
    transactionIndex: number;
    /** In its block. */
    logIndex: number;
  }>;

/** Bounds of one answer: how many logs, and how many bytes of data in them. */
export type ChainLogBounds = Readonly<{ logs: number; dataBytes: number }>;

/**
 * Logs of blocks from one to another, both included, by address and by the topic at each position; an empty list
 * matches any.
 */
export type ChainLogSearch = Readonly<{
  from: bigint;
  to: bigint;
  addresses: readonly string[];
  topics: readonly (readonly string[])[];
  most?: ChainLogBounds;
}>;

/** The blocks of a chain; undefined where it has none. Each part is read on demand, and not before. */
export type ChainBlocks = Readonly<{
  head: () => Promise<BlockHead>;
  /** The head's number; before the first block 0, without a read of the genesis state. */
  height: () => Promise<bigint>;
  byNumber: (number: bigint) => Promise<BlockHead | undefined>;
  byHash: (hash: string) => Promise<BlockHead | undefined>;
  /** Those from one number to another, both included. */
  between: (from: bigint, to: bigint) => Promise<readonly BlockHead[]>;
  /** The block that a transaction is in, and where. */
  ofTransaction: (hash: string) => Promise<Readonly<{ head: BlockHead; index: number }> | undefined>;
  outline: (head: BlockHead) => Promise<BlockOutline>;
  body: (head: BlockHead) => Promise<ChainBody>;
  /** Of all transactions of a block, or of one. */
  receipts: (head: BlockHead, index?: number) => Promise<readonly ChainReceipt[]>;
  /** The same as JSON-RPC shows them. */
  receiptForms: (head: BlockHead, index?: number) => Promise<readonly ReceiptForm[]>;
  /** Logs oldest first, or which bound they exceed. */
  logs: (search: ChainLogSearch) => Promise<readonly ChainLog[] | Readonly<{ exceeds: keyof ChainLogBounds }>>;
}>;

/** Makes a head of what is stored of it. */
export function headOf(stored: Omit<BlockHead, 'fields'>, read: (header: Uint8Array) => BlockHeader): BlockHead {
  let fields: BlockHeader | undefined;
  return {
    ...stored,
    get fields() {
      return (fields ??= read(stored.header));
    },
  };
}
