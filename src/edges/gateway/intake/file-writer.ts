import type { FileHandle } from 'node:fs/promises';

/** Writes bytes to a file one after the other, in large pieces, the next of which comes in while one is written. */
export type FileWriter = Readonly<{
  write: (bytes: Uint8Array) => Promise<void>;
  /** Writes what is left, waits until the disk has it, and closes the file, also where it fails. */
  end: () => Promise<void>;
}>;

/** From so many bytes on a piece is written: those of the network cost more in calls than in bytes. */
const pieceBytes = 1 << 20;

/** A writer from a position of a file on. */
export function createFileWriter(handle: FileHandle, from = 0): FileWriter {
  let position = from;
  let piece: Uint8Array[] = [];
  let size = 0;
  let writing: Promise<void> = Promise.resolve();
  const flush = async (): Promise<void> => {
    const [bytes, at] = [Buffer.concat(piece), position];
    position += size;
    piece = [];
    size = 0;
    await writing;
    writing = writeAll(handle, bytes, at);
    // Whoever writes or ends next hears of a failure.
    writing.catch(() => undefined);
  };
  return {
    write: async (bytes) => {
      piece.push(bytes);
      size += bytes.length;
      if (size >= pieceBytes) await flush();
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
