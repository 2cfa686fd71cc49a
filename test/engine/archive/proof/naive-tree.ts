import { createHash } from 'node:crypto';

const sha = (...parts: readonly (Buffer | Uint8Array)[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** The largest power of two below a number of leaves. */
function split(count: number): number {
  let power = 1;
  while (power * 2 < count) power *= 2;
  return power;
}

/** MTH of RFC 6962, 2.1, word by word. */
export function naiveRoot(leaves: readonly Uint8Array[]): Buffer {
  const [first] = leaves;
  if (first === undefined) return sha();
  if (leaves.length === 1) return sha(Buffer.of(0), first);
  const k = split(leaves.length);
  return sha(Buffer.of(1), naiveRoot(leaves.slice(0, k)), naiveRoot(leaves.slice(k)));
}

/** PATH of RFC 6962, 2.1.1, word by word. */
export function naivePath(index: number, leaves: readonly Uint8Array[]): Buffer[] {
  if (leaves.length === 1) return [];
  const k = split(leaves.length);
  return index < k
    ? [...naivePath(index, leaves.slice(0, k)), naiveRoot(leaves.slice(k))]
    : [...naivePath(index - k, leaves.slice(k)), naiveRoot(leaves.slice(0, k))];
}

/** SUBPROOF of RFC 6962, 2.1.2, word by word. */
export function naiveConsistency(old: number, leaves: readonly Uint8Array[], isKnown = true): Buffer[] {
  if (old === leaves.length) return isKnown ? [] : [naiveRoot(leaves)];
  const k = split(leaves.length);
  return old <= k
    ? [...naiveConsistency(old, leaves.slice(0, k), isKnown), naiveRoot(leaves.slice(k))]
    : [...naiveConsistency(old - k, leaves.slice(k), false), naiveRoot(leaves.slice(0, k))];
}
