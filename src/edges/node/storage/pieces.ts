import { mkdir, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { syncFolder, writeWhole } from '../../kit/durable.ts';
import { hashPiece, isPieceHash, type PieceHash } from './piece-hash.ts';
import type { Room } from './room.ts';

/** Pieces on the disk, each under the hash of its bytes. */
export type Pieces = Readonly<{
  /** Writes a piece whole or not at all; one that is there already becomes as young as a new one. */
  put: (bytes: Uint8Array) => Promise<PieceHash>;
  /** Takes files written elsewhere on the same disk in as pieces; their room is taken already. */
  adopt: (files: readonly Readonly<{ file: string; hash: PieceHash; bytes: number }>[]) => Promise<void>;
  /** The bytes of a piece, checked; undefined where there is none. A damaged one is removed. */
  get: (hash: PieceHash) => Promise<Buffer | undefined>;
  has: (hash: PieceHash) => Promise<boolean>;
  /** All pieces with the time of their last writing, in no order. */
  all: () => AsyncIterable<Readonly<{ hash: PieceHash; bytes: number; writtenAtMs: number }>>;
  remove: (hash: PieceHash, bytes: number) => Promise<void>;
}>;

const shards = Array.from({ length: 256 }, (_, index) => index.toString(16).padStart(2, '0'));

/** Makes the folders that pieces lie in. */
export async function makePieceFolders(folder: string): Promise<void> {
  await Promise.all(shards.map((shard) => mkdir(path.join(folder, shard), { recursive: true, mode: 0o700 })));
}

/** Every piece in a folder. */
export async function* listPieces(folder: string): ReturnType<Pieces['all']> {
  for (const shard of shards)
    for (const hash of await readdir(path.join(folder, shard))) {
      const found = await statOf(path.join(folder, shard, hash));
      if (found && isPieceHash(hash)) yield { hash, bytes: found.size, writtenAtMs: found.mtimeMs };
    }
}

/** The pieces in a folder whose subfolders are made; unfinished ones lie in `incoming`. */
export function openPieces(
  folder: string,
  { incoming, room, now }: Readonly<{ incoming: string; room: Room; now: () => number }>,
): Pieces {
  const fileOf = (hash: PieceHash): string => path.join(folder, hash.slice(0, 2), hash);
  const has: Pieces['has'] = async (hash) => (await statOf(fileOf(hash))) !== undefined;
  const touch = async (hash: PieceHash): Promise<void> => await utimes(fileOf(hash), now() / 1000, now() / 1000);
  const remove: Pieces['remove'] = async (hash, bytes) => {
    await rm(fileOf(hash), { force: true });
    room.giveBack(bytes);
  };
  return {
    has,
    remove,
    all: () => listPieces(folder),
    put: async (bytes) => {
      const hash = hashPiece(bytes);
      if (await has(hash)) {
        await touch(hash);
        return hash;
      }
      await room.take(bytes.length);
      await writeWhole(fileOf(hash), bytes, incoming).catch((caught: unknown) => {
        room.giveBack(bytes.length);
        throw caught;
      });
      return hash;
    },
    adopt: async (files) => {
      for (const { file, hash, bytes } of files) {
        if (await has(hash)) room.giveBack(bytes);
        await rename(file, fileOf(hash));
      }
      await Promise.all([...new Set(files.map(({ hash }) => path.dirname(fileOf(hash))))].map(syncFolder));
    },
    get: async (hash) => {
      const bytes = await read(fileOf(hash));
      if (bytes === undefined || hashPiece(bytes) === hash) return bytes;
      const again = await read(fileOf(hash));
      if (again === undefined || hashPiece(again) === hash) return again;
      await remove(hash, again.length);
      return undefined;
    },
  };
}

async function statOf(file: string): Promise<{ size: number; mtimeMs: number } | undefined> {
  return await stat(file).catch(unlessMissing);
}

async function read(file: string): Promise<Buffer | undefined> {
  return await readFile(file).catch(unlessMissing);
}

/** Passes every failure on but that there is no such file. */
export function unlessMissing(caught: unknown): undefined {
  if (caught instanceof Error && 'code' in caught && caught.code === 'ENOENT') return undefined;
  throw caught;
}
