import { blake3 } from '@noble/hashes/blake3.js';
import { bech32 } from '@scure/base';

/** The fields of a SuperNode that the chain's top list depends on. */
export type RankedNode = Readonly<{ operator: string; state: string; registeredHeight: number | null }>;

/** States in which the chain leaves a SuperNode out of its top list; stopped and disabled ones stay in. */
const leftOut: readonly string[] = ['postponed', 'storage_full'];

/** BLAKE3 of the raw bytes of an address; undefined for what is no Bech32 text. */
type HashOf = (operator: string) => Uint8Array | undefined;

/**
 * Ranks, from 1, in the chain's top list for a height, by operator address; operators whom the list leaves out are
 * missing.
 *
 * The list orders by BLAKE3 of the height's decimal text XOR BLAKE3 of the raw address bytes, as a big-endian number,
 * ascending, equal ones by address. It leaves out SuperNodes that registered later than the height. An address that is
 * no Bech32 text has no rank.
 *
 * @example ranksAt(682, [{ operator, state: 'active', registeredHeight: 36 }]).get(operator) // 1
 */
export function ranksAt(
  height: number,
  nodes: readonly RankedNode[],
  hashOf: HashOf = addressHash,
): Map<string, number> {
  const block = blockHash(height);
  const positions = nodes
    .filter(({ state, registeredHeight }) => !leftOut.includes(state) && (registeredHeight ?? 0) <= height)
    .flatMap(({ operator }) => {
      const hash = hashOf(operator);
      return hash ? [{ operator, hash, nearly: firstBytes(hash) ^ firstBytes(block) }] : [];
    });
  positions.sort(
    (a, b) =>
      (a.nearly >>> 0) - (b.nearly >>> 0) || compareDistances(block, a.hash, b.hash) || compare(a.operator, b.operator),
  );
  return new Map(positions.map(({ operator }, at) => [operator, at + 1]));
}

/** Hashes that are computed once, and released when a ranking did not use them. */
export function createHashCache(): Readonly<{ hashOf: HashOf; letGoOfOthers: () => void }> {
  let before: ReadonlyMap<string, Uint8Array | undefined> = new Map();
  let request = new Map<string, Uint8Array | undefined>();
  return {
    hashOf: (operator) => {
      const hash = before.get(operator) ?? request.get(operator) ?? addressHash(operator);
      request.set(operator, hash);
      return hash;
    },
    letGoOfOthers: () => {
      before = request;
      request = new Map();
    },
  };
}

function addressHash(operator: string): Uint8Array | undefined {
  const address = bech32.decodeUnsafe(operator);
  const bytes = address && bech32.fromWordsUnsafe(address.words);
  return bytes ? blake3(Uint8Array.from(bytes)) : undefined;
}

/** The block hash in the chain's top list: BLAKE3 of the height's decimal text. */
export function blockHash(height: number): Uint8Array {
  return blake3(new TextEncoder().encode(String(height)));
}

/** Four bytes as a number that decides between nearly all hashes. */
const firstBytes = (hash: Uint8Array) => new DataView(hash.buffer, hash.byteOffset).getUint32(0);

/** Which of two hashes of one length is nearer to the block: by the first byte in which they differ. */
function compareDistances(block: Uint8Array, a: Uint8Array, b: Uint8Array): number {
  const at = a.findIndex((byte, position) => byte !== b[position]);
  if (at < 0) return 0;
  const mask = block[at] ?? 0;
  return ((a[at] ?? 0) ^ mask) - ((b[at] ?? 0) ^ mask);
}

const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b));
