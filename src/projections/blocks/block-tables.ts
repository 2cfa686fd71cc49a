import { defineTable, json, nullable } from '../columns.ts';

/** What became of a transaction of the virtual machine; amounts are decimal, in the smallest unit. */
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

/** What a contract wrote down. */
type ReceiptLog = Readonly<{ address: string; topics: readonly string[]; data: string }>;

/** One block of the virtual machine. */
export const blockTable = defineTable({
  name: 'blocks',
  columns: {
    number: 'int8',
    hash: 'bytea',
    /** RLP of header and transactions. */
    block: 'bytea',
    receipts: json<readonly Receipt[]>(),
  },
  key: ['number'],
  indexes: ['hash'],
});

/** Where a transaction lies. */
export const blockTransactions = defineTable({
  name: 'block_transactions',
  columns: { hash: 'bytea', number: 'int8', place: 'int4' },
  key: ['hash'],
  covered: ['number', 'place'],
});

/** What contracts wrote down, to be searched; `place` counts in the block. */
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
