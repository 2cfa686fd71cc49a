import { randomUUID } from 'node:crypto';
import { open, rename } from 'node:fs/promises';
import path from 'node:path';

/** Writes a new file to its last byte and waits until the disk has it; fails where the file is there already. */
export async function writeSynced(file: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/** Waits until the disk has the names in a folder: a rename is durable only then. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Writes a file completely or not at all, over one of the same name; what a crash leaves lies in `incoming`. */
export async function writeAll(file: string, bytes: Uint8Array, incoming: string): Promise<void> {
  const unfinished = path.join(incoming, randomUUID());
  await writeSynced(unfinished, bytes);
  await rename(unfinished, file);
  await syncFolder(path.dirname(file));
}
