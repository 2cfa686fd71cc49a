import { type BatchDBOp, bytesToUnprefixedHex, type DB, KECCAK256_RLP } from '@ethereumjs/util';
import { LRUCache } from 'lru-cache';
import { createKnownValues } from '../../../../kit/shims/ethereumjs/known-values.ts';
import { AppError } from '../../../../kit/errors.ts';

/** A block that the state has passed. */
export type StoredHeader = Readonly<{ number: bigint; hash: string; rlp: Uint8Array }>;

/**
 * The data that one block adds: nodes by Keccak-256 hash, codes by `63` and theirs (hex digits), and the block itself.
 */
export type NodeBatch = Readonly<{ nodes: ReadonlyMap<string, Uint8Array>; header: StoredHeader }>;

/**
 * Where the state of a chain lies: nodes of tries and codes by hash, none of which ever changes, and the headers of the
 * blocks that were applied.
 */
export type NodeStore = Readonly<{
  get: (hash: string) => Promise<Uint8Array | undefined>;
  /**
   * Stores a block's nodes and its header, all or nothing; safe to repeat.
   *
   * Fails with `CONFLICT` when another block is stored at this height already, or when the one before it is missing.
   */
  put: (batch: NodeBatch) => Promise<void>;
  /** The last block applied; undefined before genesis. */
  head: () => Promise<StoredHeader | undefined>;
  header: (number: bigint) => Promise<StoredHeader | undefined>;
}>;

/** Room for nodes in memory, in bytes. */
const cachedBytes = 64 * 1024 * 1024;

/** The cache of nodes that executors of one process share. */
export type NodeCache = LRUCache<string, Uint8Array>;

/** Makes a cache of nodes; what it holds never becomes wrong, because the key is the hash. */
export const createNodeCache = (maxBytes = cachedBytes): NodeCache =>
  new LRUCache({ maxSize: maxBytes, sizeCalculation: (node) => node.length + 120 });

/** Of a trie without a node, which is never written. */
const emptyRoot = bytesToUnprefixedHex(KECCAK256_RLP);

/** A store in the form of the library's tries: writes stay here until `takeDirty` removes them. */
export class TrieDb implements DB<string, string | Uint8Array> {
  readonly #store: NodeStore;
  readonly #cache: NodeCache;
  #dirty = new Map<string, Uint8Array>();
  /** Values that were read in tries of this database. */
  readonly known = createKnownValues();

  constructor(store: NodeStore, cache: NodeCache) {
    this.#store = store;
    this.#cache = cache;
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    const near = this.#dirty.get(key) ?? this.#cache.get(key);
    if (near !== undefined) return near;
    // The library takes a missing node for an empty account, and missing code for none.
    if (key === emptyRoot) return undefined;
    const stored = await this.#store.get(key);
    if (stored === undefined) throw new AppError('UNAVAILABLE', `Node ${key} of the state is not at hand`);
    this.#cache.set(key, stored);
    return stored;
  }

  async put(key: string, value: string | Uint8Array): Promise<void> {
    if (typeof value === 'string') throw new Error('Nodes are bytes');
    // One that is stored already as well: it counts as the last block's that wrote it.
    this.#dirty.set(key, value);
    await Promise.resolve();
  }

  /** Nothing is deleted here: `forgetStates` deletes the nodes of old states. */
  async del(): Promise<void> {
    await Promise.resolve();
  }

  async batch(operations: readonly BatchDBOp<string, string | Uint8Array>[]): Promise<void> {
    for (const operation of operations) if (operation.type === 'put') await this.put(operation.key, operation.value);
  }

  async open(): Promise<void> {
    await Promise.resolve();
  }

  shallowCopy(): TrieDb {
    return this;
  }

  /** Returns the writes since the last call; they count as stored from now on. */
  takeDirty(): ReadonlyMap<string, Uint8Array> {
    const dirty = this.#dirty;
    this.#dirty = new Map();
    return dirty;
  }

  /** Drops all that is in memory: the store has lost nodes that it had. */
  forget(): void {
    this.#dirty = new Map();
    this.#cache.clear();
    this.known.clear();
  }

  /** Caches stored nodes, so that later readers need not read the store. */
  remember(nodes: ReadonlyMap<string, Uint8Array>): void {
    for (const [hash, node] of nodes) this.#cache.set(hash, node);
  }
}
