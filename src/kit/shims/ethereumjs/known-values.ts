/** @ethereumjs/mpt 10.1.3 and @ethereumjs/statemanager 10.1.3 decode the way to a value again for each read of it. */
import { MerklePatriciaTrie, type MPTOpts } from '@ethereumjs/mpt';
import { LRUCache } from 'lru-cache';

/** Values that tries of one database were found to have, null where there is none; a root and a key decide a value. */
export type KnownValues = LRUCache<string, Readonly<{ value: Uint8Array | null }>>;

const mostValues = 20_000;

/** Makes room for known values. */
export const createKnownValues = (): KnownValues => new LRUCache({ max: mostValues });

/** Remembers a value, as a copy of its own: what was read is often a view of much larger memory. */
export function remember(known: KnownValues, name: string, value: Uint8Array | null): void {
  known.set(name, { value: value && Uint8Array.from(value) });
}

/** Names the value of a key in the trie of a root. */
export const valueName = (root: Uint8Array, key: Uint8Array): string => latin1(root) + latin1(key);

const latin1 = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('latin1');

/** A trie that reads each value once for each of its roots. */
export class KnowingTrie extends MerklePatriciaTrie {
  readonly #known: KnownValues;

  constructor(options: MPTOpts, known: KnownValues) {
    super(options);
    this.#known = known;
  }

  override async get(key: Uint8Array, throwIfMissing = false): Promise<Uint8Array | null> {
    const name = valueName(this.root(), key);
    const known = this.#known.get(name);
    if (known !== undefined) return known.value;
    const value = await super.get(key, throwIfMissing);
    remember(this.#known, name, value);
    return value;
  }
}
