import { createWorkerPool } from '../../../kit/threads/worker.ts';
import type * as thread from './hash-thread.ts';

/** Hashes files in a thread, so that the serving loop does nothing else meanwhile. */
export type FileHashes = Readonly<{
  /** Both hashes of a file: base64 of BLAKE3-256, then of SHA-256. */
  of: (path: string) => Promise<readonly [string, string]>;
  close: () => Promise<void>;
}>;

/** Prepares the thread; it starts with the first file. */
export function createFileHashes(): FileHashes {
  const module = new URL('hash-thread.ts', import.meta.url);
  const pool = createWorkerPool<typeof thread>({ name: 'file-hashes', module, size: 1 });
  return { of: async (path) => await pool.call('hashes', { path }), close: () => pool.close() };
}
