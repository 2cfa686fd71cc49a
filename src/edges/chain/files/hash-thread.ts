import { open } from 'node:fs/promises';
import { piecesOf } from '../../../kit/file-pieces.ts';
import { createFileHasher } from './data-hash.ts';

const pieceBytes = 1 << 20;

/** Both hashes of a file that a chain's data hash may be, in base64: BLAKE3-256, then SHA-256. */
export async function hashes({ path }: Readonly<{ path: string }>): Promise<readonly [string, string]> {
  const hasher = await createFileHasher();
  const handle = await open(path);
  try {
    const { size } = await handle.stat();
    for await (const bytes of piecesOf(handle, { first: 0, last: size - 1, pieceBytes })) hasher.update(bytes);
    return hasher.digests();
  } finally {
    await handle.close();
  }
}
