import { createBLAKE3 } from 'hash-wasm';

/** The name of a piece: BLAKE3-256 of its bytes, 64 hex digits. */
export type PieceHash = string;

/** Bytes of a piece; the last one of a file may have fewer. One takes the loop some 1.5 ms to hash. */
export const pieceBytes = 2 ** 20;

const hasher = await createBLAKE3();

/** The name of a piece. */
export function hashPiece(bytes: Uint8Array): PieceHash {
  return hasher.init().update(bytes).digest('hex');
}

/** Returns whether a text is the name of a piece, and so a safe name for a file. */
export function isPieceHash(text: unknown): text is PieceHash {
  return typeof text === 'string' && /^[0-9a-f]{64}$/.test(text);
}
