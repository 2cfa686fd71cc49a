const mib = 2 ** 20;

/** Bytes of a chunk by the size of the file, as the real network's clients and nodes send them. */
export function chunkBytesOf(size: number): number {
  if (size <= mib) return 64 * 1024;
  if (size <= 50 * mib) return 256 * 1024;
  return size <= 500 * mib ? mib : 4 * mib;
}

/** Reads so many bytes of a sequence of buffers, in parts, and continues there the next time. */
export function takeFrom(buffers: AsyncIterator<Buffer>): (bytes: number) => AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  return async function* (bytes) {
    for (let left = bytes; left > 0;) {
      if (rest.length === 0) {
        const next = await buffers.next();
        if (next.done) return;
        rest = next.value;
      }
      const part = rest.subarray(0, left);
      rest = rest.subarray(part.length);
      left -= part.length;
      yield part;
    }
  };
}
