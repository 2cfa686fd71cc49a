import type { Block } from '@ethereumjs/block';
import { LRUCache } from 'lru-cache';
import { readBlock } from '../executor/blocks.ts';
import type { Sealed } from '../executor/executor.ts';
import type { Forks } from '../executor/forks.ts';
import type { ExecutedTransaction } from '../executor/outcome.ts';
import type { Item } from '../executor/sealing.ts';

/** A block as it is read: what was sealed, and its parts. */
export type ChainBlock = Readonly<{
  number: bigint;
  hash: string;
  block: Block;
  /** RLP of its header. */
  header: Uint8Array;
  /** RLP of the whole. */
  rlp: Uint8Array;
  executed: readonly ExecutedTransaction[];
  /** What it was made of, where that is more than its transactions. */
  items?: readonly Item[] | undefined;
}>;

/** The blocks of a chain; undefined is what it does not have. */
export type ChainBlocks = Readonly<{
  head: () => Promise<ChainBlock>;
  byNumber: (number: bigint) => Promise<ChainBlock | undefined>;
  byHash: (hash: string) => Promise<ChainBlock | undefined>;
  /** The block that a transaction stands in, and where. */
  ofTransaction: (hash: string) => Promise<Readonly<{ block: ChainBlock; index: number }> | undefined>;
  /** Numbers of the blocks in which to look for logs, oldest first: of those that have some, all that may match. */
  withLogs: (search: LogSearch) => Promise<readonly bigint[]>;
}>;

/**
 * Logs of blocks from one to another, both included, by address and by the topic at each place; an empty list takes
 * any. More than `limit` logs need not be found.
 */
export type LogSearch = Readonly<{
  from: bigint;
  to: bigint;
  addresses: readonly string[];
  topics: readonly (readonly string[])[];
  limit: number;
}>;

const parsedInMemory = 256;

/** Blocks in memory, added in their order: those of a chain that was imported. */
export class MemoryBlocks implements ChainBlocks {
  readonly #forks: Forks;
  readonly #sealed: Omit<Sealed, 'commit'>[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #transactions = new Map<string, Readonly<{ number: number; index: number }>>();
  readonly #parsed = new LRUCache<number, ChainBlock>({ max: parsedInMemory });

  constructor(forks: Forks) {
    this.#forks = forks;
  }

  add(sealed: Omit<Sealed, 'commit'>): void {
    const number = this.#sealed.length;
    this.#sealed.push(sealed);
    this.#numbers.set(sealed.hash, number);
    for (const [index, { hash }] of executedIn(sealed).entries()) this.#transactions.set(hash, { number, index });
  }

  async head(): Promise<ChainBlock> {
    const head = await this.byNumber(BigInt(this.#sealed.length - 1));
    if (!head) throw new Error('The chain has no first block');
    return head;
  }

  byNumber(number: bigint): Promise<ChainBlock | undefined> {
    const at = Number(number);
    const sealed = this.#sealed[at];
    if (!sealed) return Promise.resolve(undefined);
    const known = this.#parsed.get(at) ?? this.#parse(sealed);
    this.#parsed.set(at, known);
    return Promise.resolve(known);
  }

  async byHash(hash: string): Promise<ChainBlock | undefined> {
    const number = this.#numbers.get(hash.toLowerCase());
    return number === undefined ? undefined : await this.byNumber(BigInt(number));
  }

  async ofTransaction(hash: string): Promise<Readonly<{ block: ChainBlock; index: number }> | undefined> {
    const place = this.#transactions.get(hash.toLowerCase());
    const block = place && (await this.byNumber(BigInt(place.number)));
    return place && block && { block, index: place.index };
  }

  withLogs({ from, to }: LogSearch): Promise<readonly bigint[]> {
    const within = this.#sealed.slice(Number(from), Number(to) + 1);
    const having = within.filter((sealed) => executedIn(sealed).some(({ logs }) => logs.length > 0));
    return Promise.resolve(having.map(({ number }) => number));
  }

  #parse(sealed: Omit<Sealed, 'commit'>): ChainBlock {
    const { number, hash, header, block: rlp } = sealed;
    return { number, hash, header, rlp, block: readBlock(rlp, this.#forks), executed: executedIn(sealed) };
  }
}

const executedIn = ({ outcomes }: Omit<Sealed, 'commit'>): ExecutedTransaction[] =>
  outcomes.flatMap((outcome) => (outcome.kind === 'executed' ? [outcome.transaction] : []));
