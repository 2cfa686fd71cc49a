import type { ChainEvent } from '../../../commands/ledger/draft.ts';
import type { SealedBlock, SealedTransaction, Complete } from './blocks.ts';
import { type Condition, TransactionIndex } from './transaction-index.ts';

/** The part of a search's results to return; order is that of the blocks. */
export type SearchPage = Readonly<{ order: 'asc' | 'desc'; offset: number; limit: number }>;

/** A page of a search, and how many transactions match in all. */
export type SealedSearchResult = Readonly<{ total: number; transactions: readonly SealedTransaction[] }>;

/** The condition of a read: it must include all blocks up to this position of the log. */
export type UpTo = Readonly<{ sequence: number }>;

/** Where the blocks of a chain are read from; a read that cannot be answered in full fails with `UNAVAILABLE`. */
export type SealedBlocks = Readonly<{
  /** Adds the next block, with the events of each transaction. */
  add: (block: SealedBlock, events: readonly (readonly ChainEvent[])[]) => void;
  block: (height: number, upTo: UpTo) => Promise<SealedBlock | undefined>;
  /** By upper-case hex. */
  transaction: (hash: string, upTo: UpTo) => Promise<SealedTransaction | undefined>;
  search: (conditions: readonly Condition[], page: SearchPage, upTo: UpTo) => Promise<SealedSearchResult>;
}>;

/** Holds all blocks in memory, as a chain without a database does. */
export function blocksInMemory(complete: Complete): SealedBlocks {
  const blocks: SealedBlock[] = [];
  const index = new TransactionIndex();
  return {
    add: (block, events) => {
      blocks.push(block);
      for (const [location, transaction] of block.transactions.entries())
        index.add(transaction, events[location] ?? []);
    },
    block: (height) => Promise.resolve(blocks[height - 1]),
    transaction: (hash) => Promise.resolve(index.byHash(hash)),
    search: async (conditions, page) => pageOf(await index.search(conditions, complete), page),
  };
}

/** A page of transactions that are all there, oldest first. */
export function pageOf(all: readonly SealedTransaction[], { order, offset, limit }: SearchPage): SealedSearchResult {
  const ordered = order === 'desc' ? all.toReversed() : all;
  return { total: all.length, transactions: ordered.slice(offset, offset + limit) };
}

const most = { blocks: 1_000, transactions: 20_000 } as const;

type Recent = Readonly<{ block: SealedBlock; sequence: number }>;

/** The last blocks of a chain and their transactions, bounded by the number of both; the newest one is always there. */
export class RecentBlocks {
  readonly #blocks = new Map<number, Recent>();
  readonly #byHash = new Map<string, SealedTransaction>();
  /** Position in the log of the last block that is not among them. */
  sequence: number;

  constructor(sequence: number) {
    this.sequence = sequence;
  }

  add(block: SealedBlock, sequence: number): void {
    this.#blocks.set(block.height, { block, sequence });
    for (const one of block.transactions) this.#byHash.set(one.hash, one);
    for (const [height, oldest] of this.#blocks) {
      const isFull = this.#blocks.size > most.blocks || this.#byHash.size > most.transactions;
      if (!isFull || height === block.height) break;
      this.#blocks.delete(height);
      for (const { hash } of oldest.block.transactions) this.#byHash.delete(hash);
      this.sequence = oldest.sequence;
    }
  }

  block(height: number): SealedBlock | undefined {
    return this.#blocks.get(height)?.block;
  }

  transaction(hash: string): SealedTransaction | undefined {
    return this.#byHash.get(hash);
  }
}
