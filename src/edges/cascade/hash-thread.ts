import { createReadStream } from 'node:fs';
import { createFileHasher } from './data-hash.ts';

const pieceBytes = 1 << 20;

/** Both hashes of a file that a chain's data hash may be, in base64: BLAKE3-256, then SHA-256. */
export async function hashes({ path }: Readonly<{ path: string }>): Promise<readonly [string, string]> {
  const hasher = await createFileHasher();
  for await (const chunk of createReadStream(path, { highWaterMark: pieceBytes })) {
    const bytes: Buffer = chunk;
    hasher.update(bytes);
  }
  return hasher.digests();
}
