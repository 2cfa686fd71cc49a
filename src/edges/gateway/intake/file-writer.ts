import type { FileHandle } from 'node:fs/promises';

/** Writes bytes to a file one after the other, in large pieces, the next of which comes in while one is written. */
export type FileWriter = Readonly<{
  write: (bytes: Uint8Array) => Promise<void>;
  /** Writes what is left, waits until the disk has it, and closes the file, also where it fails. */
  end: () => Promise<void>;
}>;

/** The size of one write: pieces of the network cost more in calls than in bytes. A writer holds two of them. */
const pieceBytes = 512 * 1024;

/** A writer from a position of a file on. */
export function createFileWriter(handle: FileHandle, from = 0): FileWriter {
  let position = from;
  let filling = Buffer.allocUnsafeSlow(pieceBytes);
  let spare: typeof filling | undefined;
  let size = 0;
  let writing: Promise<void> = Promise.resolve();
  const flush = async (): Promise<void> => {
    await writing;
    writing = writeAll(handle, filling.subarray(0, size), position);
    // The next write or end fails with it.
    writing.catch(() => undefined);
    position += size;
    size = 0;
    [filling, spare] = [spare ?? Buffer.allocUnsafeSlow(pieceBytes), filling];
  };
  return {
    write: async (bytes) => {
      for (let at = 0; at < bytes.length;) {
        const part = bytes.subarray(at, at + pieceBytes - size);
        filling.set(part, size);
        size += part.length;
        at += part.length;
        if (size === pieceBytes) await flush();
      }
    },
    end: async () => {
      try {
        await flush();
        await writing;
        await handle.sync();
      } finally {
        await handle.close();
      }
    },
  };
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, position + written);
    written += bytesWritten;
  }
}
