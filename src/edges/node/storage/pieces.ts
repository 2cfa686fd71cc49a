import { mkdir, readdir, rename, rm, utimes } from 'node:fs/promises';
import path from 'node:path';
import { syncFolder, writeAll } from '../../../kit/durable.ts';
import { createInTurn } from '../../../kit/in-turn.ts';
import { codeOf, type DiskRead, readDisk, statOf } from './disk-reads.ts';
import { hashPiece, isPieceHash, type PieceHash } from './piece-hash.ts';
import type { Room } from './room.ts';
import type { WrittenIndex } from './storage-index.ts';
import type { Trash } from './trash.ts';

/** A file beside the pieces that holds the bytes of one; its room is reserved. */
export type WrittenPiece = Readonly<{ file: string; hash: PieceHash; bytes: number }>;

/** Pieces on the disk, each under the hash of its bytes. */
export type Pieces = Readonly<{
  /**
   * Writes a piece completely or not at all. One that is there already is compared and becomes as young as a new one;
   * where its bytes are others, or cannot be read, it is written anew. `hash` is that of the bytes, where the caller
   * has just computed it.
   */
  put: (bytes: Uint8Array, hash?: PieceHash) => Promise<PieceHash>;
  /** Takes files written elsewhere on the same disk in as pieces, in order; `onAdopted` is called after each. */
  adopt: (files: readonly WrittenPiece[], onAdopted: () => void) => Promise<void>;
  /**
   * The bytes of a piece, checked; undefined where there is none to be read. One of other bytes is deleted; one that
   * the disk does not return stays there until it is written anew.
   */
  get: (hash: PieceHash) => Promise<Buffer | undefined>;
  /** The bytes that the disk has of a piece, unchecked: for who hashes the complete file from them. */
  read: (hash: PieceHash) => Promise<Buffer | undefined>;
  /** Returns whether a piece is there, by its name alone. */
  has: (hash: PieceHash) => Promise<boolean>;
  /** Moves a piece to the trash that no file names and that was written before a time. */
  discard: (hash: PieceHash, beforeMs: number) => Promise<void>;
  /** Moves a piece back from the trash; false where it is not there. */
  takeBack: (hash: PieceHash) => Promise<boolean>;
}>;

const shards = Array.from({ length: 256 }, (_, index) => index.toString(16).padStart(2, '0'));

/** Makes the folders that pieces lie in. */
export async function makePieceFolders(folder: string): Promise<void> {
  await Promise.all(shards.map((shard) => mkdir(path.join(folder, shard), { recursive: true, mode: 0o700 })));
}

/** The names of all pieces in a folder. */
export async function* listPieces(folder: string): AsyncGenerator<PieceHash> {
  for (const shard of shards) yield* (await readdir(path.join(folder, shard))).filter(isPieceHash);
}

/** Where a piece lies below its folder. */
export function pieceFile(folder: string, hash: PieceHash): string {
  return path.join(folder, hash.slice(0, 2), hash);
}

/** Options of the store of pieces; unfinished ones lie in `incoming`. */
export type PiecesOptions = Readonly<{
  incoming: string;
  room: Room;
  index: WrittenIndex;
  trash: Trash;
  now: () => number;
  /** Receives each file of which a piece came or went. */
  onChange: (actionId: string) => void;
}>;

/** One piece at a time on the disk, in the index and in the room. */
type PieceDisk = Readonly<{
  fileOf: (hash: PieceHash) => string;
  arrived: (hash: PieceHash, bytes: number) => void;
  left: (hash: PieceHash) => void;
  /** Moves whatever lies where a piece should be to the trash. */
  clear: (hash: PieceHash) => Promise<void>;
  /** Writes a piece over what was read there. */
  write: (bytes: Uint8Array, hash: PieceHash, there: DiskRead) => Promise<void>;
  /** Moves a file to where a piece should be. */
  replace: (hash: PieceHash, file: string) => Promise<void>;
}>;

function openPieceDisk(folder: string, { incoming, room, index, trash, onChange }: PiecesOptions): PieceDisk {
  const fileOf = (hash: PieceHash): string => pieceFile(folder, hash);
  const arrived: PieceDisk['arrived'] = (hash, bytes) => {
    index.arrived(hash, bytes);
    index.filesOf(hash).forEach(onChange);
  };
  const left: PieceDisk['left'] = (hash) => {
    if (!index.isHere(hash)) return;
    const files = index.filesOf(hash);
    room.giveBack(index.left(hash));
    files.forEach(onChange);
  };
  const clear: PieceDisk['clear'] = async (hash) => {
    await trash.put('pieces', fileOf(hash));
  };
  return {
    fileOf,
    arrived,
    left,
    clear,
    write: async (bytes, hash, there) => {
      left(hash);
      await room.take(bytes.length);
      try {
        if (there === 'unreadable') await clear(hash);
        await writeAll(fileOf(hash), bytes, incoming);
      } catch (caught) {
        room.giveBack(bytes.length);
        throw caught;
      }
      arrived(hash, bytes.length);
    },
    replace: async (hash, file) => {
      await rename(file, fileOf(hash)).catch(async (caught: unknown) => {
        if (!isOccupied(caught)) throw caught;
        await clear(hash);
        await rename(file, fileOf(hash));
      });
    },
  };
}

/** The pieces in a folder whose subfolders are made; works on one piece take their turns. */
export function openPieces(folder: string, options: PiecesOptions): Pieces {
  const { room, index, trash, now } = options;
  const { fileOf, arrived, left, clear, write, replace } = openPieceDisk(folder, options);
  const inTurn = createInTurn();
  const readAgain = async (hash: PieceHash): Promise<Buffer | undefined> => {
    const read = await readDisk(fileOf(hash));
    if (isSound(read, hash)) return read;
    if (Buffer.isBuffer(read)) await rm(fileOf(hash), { force: true });
    left(hash);
    return undefined;
  };
  return {
    has: async (hash) => {
      const isThere = index.isHere(hash) && (await statOf(fileOf(hash))) !== undefined;
      if (!isThere) left(hash);
      return isThere;
    },
    put: async (bytes, hash = hashPiece(bytes)) => {
      return await inTurn(hash, async () => {
        const there = await readDisk(fileOf(hash));
        if (!Buffer.isBuffer(there) || !there.equals(bytes)) await write(bytes, hash, there);
        else {
          await utimes(fileOf(hash), now() / 1000, now() / 1000);
          if (!index.isHere(hash)) room.add(bytes.length);
          arrived(hash, bytes.length);
        }
        return hash;
      });
    },
    adopt: async (files, onAdopted) => {
      for (const { file, hash, bytes } of files)
        await inTurn(hash, async () => {
          await replace(hash, file);
          left(hash);
          arrived(hash, bytes);
          onAdopted();
        });
      await Promise.all([...new Set(files.map(({ hash }) => path.dirname(fileOf(hash))))].map(syncFolder));
    },
    read: async (hash) => bytesIn(await readDisk(fileOf(hash))),
    get: async (hash) => {
      const bytes = await readDisk(fileOf(hash));
      return isSound(bytes, hash) ? bytes : await inTurn(hash, () => readAgain(hash));
    },
    discard: async (hash, beforeMs) =>
      await inTurn(hash, async () => {
        const entry = await statOf(fileOf(hash));
        if (entry && (entry.mtimeMs >= beforeMs || index.filesOf(hash).length > 0)) return;
        left(hash);
        if (entry) await clear(hash);
      }),
    takeBack: async (hash) =>
      await inTurn(hash, async () => {
        const size = await trash.takeBack('pieces', fileOf(hash));
        if (size !== undefined) arrived(hash, size);
        return size !== undefined;
      }),
  };
}

function isSound(read: DiskRead, hash: PieceHash): read is Buffer {
  return Buffer.isBuffer(read) && hashPiece(read) === hash;
}

function bytesIn(read: DiskRead): Buffer | undefined {
  return Buffer.isBuffer(read) ? read : undefined;
}

function isOccupied(caught: unknown): boolean {
  return ['EISDIR', 'ENOTEMPTY', 'EEXIST'].includes(codeOf(caught) ?? '');
}
