import { defineTable, json, nullable } from '../columns.ts';

/** The result of a transaction of the virtual machine; amounts are decimal, in the smallest unit. */
export type Receipt = Readonly<{
  hash: string;
  type: number;
  from: string;
  to: string | null;
  contract: string | null;
  succeeded: boolean;
  gasUsed: number;
  cumulativeGasUsed: number;
  effectiveGasPrice: string;
  logs: readonly ReceiptLog[];
}>;

/** An event of a contract. */
type ReceiptLog = Readonly<{ address: string; topics: readonly string[]; data: string }>;

/** Accounts (amounts in the smallest unit, decimal) and rows of the rules as before a block's first receipt. */
export type Opening = Readonly<{
  accounts: readonly Readonly<{ address: string; balance: string; nonce: number }>[];
  records: readonly Readonly<{ table: string; id: string; value: string }>[];
}>;

/** A transaction of either kind as the chain's REST shows it, and what a search finds it by (`searchTerms`). */
export type ChainTransaction = Readonly<{
  /** `0x` and 64 digits. */
  hash: string;
  code: number;
  log: string;
  terms: readonly string[];
}>;

/** One block of the chain: as the virtual machine has it, and as the chain's REST does. */
export const blockTable = defineTable({
  name: 'blocks',
  columns: {
    number: 'int8',
    hash: 'bytea',
    /** RLP of the header, and the time in it, in seconds. */
    header: 'bytea',
    timestamp: 'int8',
    /** How many transactions it holds, and how long its RLP is. */
    transaction_count: 'int4',
    size_bytes: 'int4',
    /** RLP of what the block holds behind its header. */
    body: 'bytea',
    /** State changes of the rules' transactions before the first one of the virtual machine. */
    opening: nullable(json<Opening>()),
    receipts: json<readonly Receipt[]>(),
    /** RFC 3339, UTC. */
    time: 'text',
    /** As the chain's REST shows it, base64; so is that of the block before. */
    chain_hash: 'text',
    previous_hash: nullable('text'),
    /** The rules' transactions, then those of the virtual machine. */
    transactions: json<readonly ChainTransaction[]>(),
  },
  key: ['number'],
  indexes: ['hash'],
});

/** Every transaction of the chain, of either kind; `place` is its index in the block. */
export const chainTransactions = defineTable({
  name: 'chain_transactions',
  columns: { number: 'int8', place: 'int4', hash: 'bytea', code: 'int4', log: 'text' },
  key: ['number', 'place'],
  indexes: ['hash'],
});

/** The terms of transactions for searches; see `searchTerms`. */
export const transactionTerms = defineTable({
  name: 'transaction_terms',
  columns: { term: 'text', number: 'int8', place: 'int4' },
  key: ['term', 'number', 'place'],
});

/** Where a transaction lies, and its receipt without logs; `first_log` counts the logs of the block before its own. */
export const blockTransactions = defineTable({
  name: 'block_transactions',
  columns: {
    hash: 'bytea',
    number: 'int8',
    place: 'int4',
    type: 'int4',
    sender: 'bytea',
    recipient: nullable('bytea'),
    contract: nullable('bytea'),
    succeeded: 'bool',
    gas_used: 'int8',
    cumulative_gas_used: 'int8',
    effective_gas_price: 'numeric',
    first_log: 'int4',
    logs: 'int4',
  },
  key: ['hash'],
  indexes: ['number, place'],
});

/** The events of contracts, indexed for searches; `place` is the index in the block. */
export const blockLogs = defineTable({
  name: 'block_logs',
  columns: {
    number: 'int8',
    place: 'int4',
    address: 'bytea',
    topic0: nullable('bytea'),
    topic1: nullable('bytea'),
    topic2: nullable('bytea'),
    topic3: nullable('bytea'),
    data: 'bytea',
    transaction: 'bytea',
    transaction_place: 'int4',
  },
  key: ['number', 'place'],
  indexes: ['address, number', 'topic0, number'],
});
