import { createDataHasher } from '../../chain/files/data-hash.ts';
import type { Manifest } from '../storage/manifest.ts';
import type { PieceHash } from '../storage/piece-hash.ts';

/** A piece, and its source. */
export type PieceMatch = Readonly<{ bytes: Buffer; from: 'here' | 'elsewhere' }>;

/**
 * Whether a manifest is true: all of its pieces were read and are the file; and where they were. One that is `false`
 * contradicts its own pieces; one that is merely not true may lack some of them.
 */
export type Judgement = Readonly<{ isTrue: boolean; isFalse: boolean; here: number; elsewhere: number }>;

/**
 * Reads the complete file that a manifest describes, and no byte beyond its size. The content of a piece always matches
 * its name, so that the data hash decides whether they are the right ones, in the right order.
 */
export async function judge(
  { pieces, dataHash, size }: Manifest,
  pieceOf: (hash: PieceHash) => Promise<PieceMatch | undefined>,
  signal?: AbortSignal,
): Promise<Judgement> {
  const hasher = await createDataHasher();
  const match = { here: 0, elsewhere: 0 };
  let bytes = 0;
  for (const hash of pieces) {
    signal?.throwIfAborted();
    const piece = await pieceOf(hash);
    if (!piece) return { isTrue: false, isFalse: false, ...match };
    match[piece.from] += 1;
    bytes += piece.bytes.length;
    if (bytes > size) return { isTrue: false, isFalse: true, ...match };
    hasher.update(piece.bytes);
  }
  const isTrue = bytes === size && hasher.digest() === dataHash;
  return { isTrue, isFalse: !isTrue, ...match };
}
