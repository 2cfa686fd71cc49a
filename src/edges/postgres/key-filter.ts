/** A set of keys in little memory, which may also take a key for one of its own that is not. */
export type KeyFilter = Readonly<{ add: (key: string) => void; mayHold: (key: string) => boolean }>;

/** 16 MiB: one in twenty unknown keys is mistaken with seven million in the set. */
const bits = 2 ** 27;

/** Makes an empty filter. */
export function createKeyFilter(): KeyFilter {
  const words = new Uint32Array(bits / 32);
  return {
    add: (key) => {
      const bit = hashOf(key) % bits;
      words[bit >>> 5] = (words[bit >>> 5] ?? 0) | (1 << (bit & 31));
    },
    mayHold: (key) => {
      const bit = hashOf(key) % bits;
      return ((words[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
    },
  };
}

/** Spreads keys evenly over 32 bits: FNV-1a, mixed once more. */
export function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
