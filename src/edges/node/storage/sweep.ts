import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { statOf } from './disk-reads.ts';
import type { StoredFiles } from './kept-files.ts';
import type { Pieces } from './pieces.ts';
import type { StorageIndex } from './storage-index.ts';
import type { Trash } from './trash.ts';

/** The verdict on a file's action: its file stays, it may go, or neither is known. */
export type Verdict = 'stays' | 'goes' | 'unknown';

/** Returns the verdict on the action of a file that is stored, or lies in the trash. */
export type ActionVerdict = (actionId: string, where: 'stored' | 'trash') => Promise<Verdict>;

/** The parts that a sweep works on. */
export type Swept = Readonly<{
  incoming: string;
  index: StorageIndex;
  files: StoredFiles;
  pieces: Pieces;
  trash: Trash;
  /** Returns whether every manifest could be read: else it is unknown which pieces belong to no file. */
  knowsAllFiles: () => boolean;
  /** Folders below `incoming` that are being written. */
  inUse: ReadonlySet<string>;
  now: () => number;
}>;

const leftAloneMs = 3_600_000;
const trashMs = 86_400_000;

/** Moves to the trash what belongs to nothing, one thing after the other, and empties what lay there for a day. */
export async function sweep(store: Swept, judge: ActionVerdict): Promise<void> {
  const beforeMs = store.now() - leftAloneMs;
  await sweepFiles(store, judge, beforeMs);
  if (store.knowsAllFiles()) for (const hash of store.index.orphans()) await store.pieces.discard(hash, beforeMs);
  for (const name of await readdir(store.incoming)) {
    const entry = path.join(store.incoming, name);
    if (!store.inUse.has(entry) && (await isOlder(entry, beforeMs))) await rm(entry, { recursive: true, force: true });
  }
  await store.trash.empty(store.now() - trashMs);
}

async function sweepFiles(
  { index, files, pieces, trash }: Swept,
  judge: ActionVerdict,
  beforeMs: number,
): Promise<void> {
  for (const actionId of index.files()) {
    if (index.file(actionId)?.isFinalized !== false || !(await isOlder(files.fileOf(actionId), beforeMs))) continue;
    const verdict = await judge(actionId, 'stored');
    if (verdict === 'stays') await files.mark(actionId, { isFinalized: true });
    if (verdict === 'goes') await files.forget(actionId);
  }
  for (const actionId of await trash.names('files')) {
    if ((await judge(actionId, 'trash')) !== 'stays') continue;
    await files.takeBack(actionId);
    for (const hash of index.lacking(actionId)) await pieces.takeBack(hash);
  }
}

async function isOlder(file: string, beforeMs: number): Promise<boolean> {
  const entry = await statOf(file);
  return entry !== undefined && entry.mtimeMs < beforeMs;
}
