const mib = 2 ** 20;

/** Bytes of a chunk by the size of the file, as the real network's clients and nodes send them. */
export function chunkBytesOf(size: number): number {
  if (size <= mib) return 64 * 1024;
  if (size <= 50 * mib) return 256 * 1024;
  return size <= 500 * mib ? mib : 4 * mib;
}

/** The same bytes in chunks of one size, the last one excepted. */
export async function* inChunks(parts: AsyncIterable<Buffer>, chunkBytes: number): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let length = 0;
  for await (const part of parts) {
    waiting.push(part);
    length += part.length;
    if (length < chunkBytes) continue;
    const complete = waiting.length === 1 ? part : Buffer.concat(waiting);
    const end = length - (length % chunkBytes);
    for (let at = 0; at < end; at += chunkBytes) yield complete.subarray(at, at + chunkBytes);
    waiting = end < length ? [complete.subarray(end)] : [];
    length -= end;
  }
  if (length > 0) yield Buffer.concat(waiting);
}
