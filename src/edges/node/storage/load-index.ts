import pLimit from 'p-limit';
import { statOf } from './disk-reads.ts';
import type { StoredFiles } from './kept-files.ts';
import { encodeStored } from './manifest.ts';
import { listPieces, pieceFile } from './pieces.ts';
import type { PieceHash } from './piece-hash.ts';
import type { Room } from './room.ts';
import type { WrittenIndex } from './storage-index.ts';

/** Where a store lies, and what is to know of it. */
type Loaded = Readonly<{ pieceFolder: string; files: StoredFiles; index: WrittenIndex; room: Room }>;

/** So few files are open at once that other work never lacks descriptors. */
const readsAtOnce = 8;

/**
 * Reads what a store holds: all manifests, and the names of all pieces. The sizes of pieces come from their manifests;
 * only for pieces that no file names it reads the size from the disk.
 *
 * @returns files whose manifests cannot be read
 */
export async function loadIndex({ pieceFolder, files, index, room }: Loaded): Promise<readonly string[]> {
  const limit = pLimit(readsAtOnce);
  const unreadable: string[] = [];
  const readFile = async (actionId: string): Promise<void> => {
    // Whatever the failure is, the file is not forgotten: it counts as one whose pieces are unknown.
    const file = await files.read(actionId).catch(() => undefined);
    if (!file) return void unreadable.push(actionId);
    index.keep(file);
    room.add(encodeStored(file).length);
  };
  await limit.map(await files.names(), readFile);
  const orphans: PieceHash[] = [];
  for await (const hash of listPieces(pieceFolder)) {
    const bytes = index.bytesOf(hash);
    if (bytes === undefined) orphans.push(hash);
    else {
      index.arrived(hash);
      room.add(bytes);
    }
  }
  await limit.map(orphans, async (hash) => {
    const entry = await statOf(pieceFile(pieceFolder, hash));
    if (!entry) return;
    index.arrived(hash, entry.size);
    room.add(entry.size);
  });
  return unreadable;
}
