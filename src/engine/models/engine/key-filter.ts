/** A set of keys in little memory, which may also take a key for one of its own that is not. */
export type KeyFilter = Readonly<{ add: (key: string) => void; mayHold: (key: string) => boolean }>;

/** 16 MiB: of a million unknown keys none is mistaken with a million in the set, and few with seven million. */
const bits = 2 ** 27;
const bitsPerKey = 5;

/** Makes an empty filter (a Bloom filter). */
export function createKeyFilter(): KeyFilter {
  const words = new Uint32Array(bits / 32);
  return {
    add: (key) => {
      let bit = spread(key, 0x811c9dc5);
      const step = spread(key, 0x9e3779b9) | 1;
      for (let nth = 0; nth < bitsPerKey; nth++) {
        const at = (bit & (bits - 1)) >>> 5;
        words[at] = (words[at] ?? 0) | (1 << (bit & 31));
        bit = (bit + step) | 0;
      }
    },
    mayHold: (key) => {
      let bit = spread(key, 0x811c9dc5);
      const step = spread(key, 0x9e3779b9) | 1;
      for (let nth = 0; nth < bitsPerKey; nth++) {
        if (((words[(bit & (bits - 1)) >>> 5] ?? 0) & (1 << (bit & 31))) === 0) return false;
        bit = (bit + step) | 0;
      }
      return true;
    },
  };
}

/** Spreads keys evenly over 32 bits, otherwise for each seed: FNV-1a, mixed once more. */
export function spread(key: string, seed: number): number {
  let hash = seed | 0;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}
