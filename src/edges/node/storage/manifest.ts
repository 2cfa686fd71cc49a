import { isActionId } from '../../indexer/chain/values.ts';
import { parseBounded } from '../../kit/bounded-json.ts';
import { isPieceHash, type PieceHash, pieceBytes } from './piece-hash.ts';

/** What a stored file consists of: its pieces in order, all of `pieceBytes` but the last. */
export type Manifest = Readonly<{
  actionId: string;
  /** Base64 of BLAKE3-256 of the whole file, as the chain has it. */
  dataHash: string;
  size: number;
  pieces: readonly PieceHash[];
}>;

/** A manifest as bytes; the same ones for the same file. */
export function encodeManifest({ actionId, dataHash, size, pieces }: Manifest): Buffer {
  return Buffer.from(JSON.stringify({ actionId, dataHash, size, pieces }));
}

/** Whether two manifests say the same of the same file. */
export function isSameManifest(a: Manifest, b: Manifest): boolean {
  return encodeManifest(a).equals(encodeManifest(b));
}

/** Reads a manifest; undefined where the bytes are none, or one that is at odds with itself. */
export function decodeManifest(bytes: Uint8Array): Manifest | undefined {
  try {
    const read = parseBounded(Buffer.from(bytes).toString('utf8'), { depth: 3, values: 10_000 });
    if (typeof read !== 'object' || read === null) return undefined;
    const { actionId, dataHash, size, pieces }: Partial<Record<keyof Manifest, unknown>> = read;
    const isSize = typeof size === 'number' && Number.isSafeInteger(size) && size >= 0;
    if (!isActionId(actionId) || typeof dataHash !== 'string' || dataHash.length !== 44 || !isSize) return undefined;
    if (!Array.isArray(pieces) || !pieces.every(isPieceHash)) return undefined;
    return pieces.length === Math.ceil(size / pieceBytes) ? { actionId, dataHash, size, pieces } : undefined;
  } catch {
    // From a peer, or a disk: whoever asked for a manifest has none.
    return undefined;
  }
}
