import type { FileHandle } from 'node:fs/promises';

/** Which bytes of a file, both ends included, in pieces of how many. */
export type FileSpan = Readonly<{
  first: number;
  last: number;
  pieceBytes: number;
  /** The number of pieces that are valid at a time, counting from the last one; 1 by default. */
  held?: number;
}>;

/**
 * Reads a part of a file in pieces, always into the same few buffers: a large file leaves no garbage behind.
 *
 * A piece's buffer is overwritten once the caller requested `held` more. Fails where the file ends before its part
 * does.
 */
export async function* piecesOf(
  handle: FileHandle,
  { first, last, pieceBytes, held = 1 }: FileSpan,
): AsyncGenerator<Buffer<ArrayBuffer>, void, undefined> {
  const buffers: Buffer<ArrayBuffer>[] = [];
  let at = first;
  for (let turn = 0; at <= last; turn += 1) {
    const length = Math.min(pieceBytes, last - at + 1);
    const buffer = (buffers[turn % held] ??= Buffer.allocUnsafeSlow(length));
    await fill(handle, buffer.subarray(0, length), at);
    yield buffer.subarray(0, length);
    at += length;
  }
}

async function fill(handle: FileHandle, piece: Uint8Array, position: number): Promise<void> {
  for (let read = 0; read < piece.length;) {
    const { bytesRead } = await handle.read(piece, read, piece.length - read, position + read);
    if (bytesRead === 0) throw new Error('The file is shorter than it was');
    read += bytesRead;
  }
}
