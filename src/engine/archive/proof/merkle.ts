import { hash as digest } from 'node:crypto';

/** Bytes of a hash: SHA-256. */
export const hashBytes = 32;

/** Leaves from `start` up to, but not with, `end`: a subtree of a Merkle tree as RFC 6962 cuts it. */
export type LeafRange = Readonly<{ start: number; end: number }>;

/** A complete subtree: that of `2 ** level` leaves which is the `index`-th of its size. */
export type Subtree = Readonly<{ level: number; index: number }>;

/** Reads the hash of a complete subtree. */
export type HashReader = (subtree: Subtree) => Promise<Uint8Array>;

/** The root of a tree without leaves (RFC 6962, 2.1). */
export const emptyRoot: Uint8Array = sha256(new Uint8Array());

const leafInput = new Uint8Array(1 + hashBytes);
const nodeInput = new Uint8Array(1 + 2 * hashBytes).fill(1, 0, 1);

/** SHA-256 of bytes; of an event's bytes it is the entry of that event. */
export function sha256(bytes: Uint8Array): Uint8Array {
  return digest('sha256', bytes, 'buffer');
}

/** The hash of a leaf: `SHA-256(0x00 || entry)`; an entry is a hash, or empty where nothing is known of an event. */
export function leafHash(entry: Uint8Array): Uint8Array {
  if (entry.length !== hashBytes) return sha256(Buffer.concat([Buffer.of(0), entry]));
  leafInput.set(entry, 1);
  return sha256(leafInput);
}

/** The hash of a node: `SHA-256(0x01 || left || right)`. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  nodeInput.set(left, 1);
  nodeInput.set(right, 1 + hashBytes);
  return sha256(nodeInput);
}

/** The complete subtrees that a range consists of, from the left: the largest that fit, as RFC 6962 splits it. */
export function subtreesOf({ start, end }: LeafRange): Subtree[] {
  const subtrees: Subtree[] = [];
  for (let at = start; at < end;) {
    let level = 0;
    while (2 ** (level + 1) <= end - at) level += 1;
    subtrees.push({ level, index: at / 2 ** level });
    at += 2 ** level;
  }
  return subtrees;
}

/** The hash of a range; of `0` to `n` it is the root of the tree with `n` leaves. */
export async function rangeHash(range: LeafRange, read: HashReader): Promise<Uint8Array> {
  const hashes = await Promise.all(subtreesOf(range).map(read));
  return hashes.length === 0 ? emptyRoot : hashes.reduceRight((right, left) => nodeHash(left, right));
}

/** The ranges whose hashes prove that a tree of `size` leaves has the one at `index` (RFC 6962, 2.1.1). */
export function inclusionRanges(index: number, size: number): LeafRange[] {
  const ranges: LeafRange[] = [];
  let [start, end] = [0, size];
  while (end - start > 1) {
    const middle = start + splitOf(end - start);
    ranges.unshift(index < middle ? { start: middle, end } : { start, end: middle });
    if (index < middle) end = middle;
    else start = middle;
  }
  return ranges;
}

/** The ranges whose hashes prove that a tree of `size` leaves starts with that of `old` leaves (RFC 6962, 2.1.2). */
export function consistencyRanges(old: number, size: number): LeafRange[] {
  const ranges: LeafRange[] = [];
  let [start, end] = [0, size];
  if (old === 0) return ranges;
  while (old !== end) {
    const middle = start + splitOf(end - start);
    ranges.unshift(old <= middle ? { start: middle, end } : { start, end: middle });
    if (old <= middle) end = middle;
    else start = middle;
  }
  // A client that has the root of the old tree knows that tree.
  return start === 0 ? ranges : [{ start, end }, ...ranges];
}

/** The largest power of two below a size. */
function splitOf(size: number): number {
  let power = 1;
  while (power * 2 < size) power *= 2;
  return power;
}
