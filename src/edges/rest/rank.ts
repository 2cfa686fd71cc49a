import { blake3 } from '@noble/hashes/blake3.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { bech32 } from '@scure/base';

/** What the chain's top list needs to know of a SuperNode. */
export type RankedNode = Readonly<{ operator: string; state: string; registeredHeight: number | null }>;

/** States in which the chain leaves a SuperNode out of its top list; stopped and disabled ones stay in. */
const leftOut: readonly string[] = ['postponed', 'storage_full'];

/**
 * Places, from 1, in the chain's top list for a height, by operator address; those whom the list leaves out are missing.
 *
 * The list orders by BLAKE3 of the height's decimal text XOR BLAKE3 of the raw address bytes, as a big-endian number,
 * ascending, equal ones by address. It leaves out who registered later than the height. An address that is no Bech32 text
 * has no place.
 *
 * @example ranksAt(682, [{ operator, state: 'active', registeredHeight: 36 }]).get(operator) // 1
 */
export function ranksAt(height: number, nodes: readonly RankedNode[]): Map<string, number> {
  const block = blockHash(height);
  const places = nodes
    .filter(({ state, registeredHeight }) => !leftOut.includes(state) && (registeredHeight ?? 0) <= height)
    .flatMap(({ operator }) => {
      const address = bech32.decodeUnsafe(operator);
      const bytes = address && bech32.fromWordsUnsafe(address.words);
      return bytes ? [{ operator, distance: distance(block, blake3(Uint8Array.from(bytes))) }] : [];
    });
  places.sort((a, b) => compare(a.distance, b.distance) || compare(a.operator, b.operator));
  return new Map(places.map(({ operator }, at) => [operator, at + 1]));
}

/** What the chain's top list takes for the hash of a block: BLAKE3 of the height's decimal text. */
export function blockHash(height: number): Uint8Array {
  return blake3(new TextEncoder().encode(String(height)));
}

/** Hex of fixed length compares as the number that it is. */
const distance = (a: Uint8Array, b: Uint8Array) => bytesToHex(a.map((byte, at) => byte ^ (b[at] ?? 0)));

const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b));
