import { mkdir, readdir, rename, rm, utimes } from 'node:fs/promises';
import path from 'node:path';
import { syncFolder } from '../../../kit/durable.ts';
import { codeOf, statOf } from './disk-reads.ts';
import type { Room } from './room.ts';

const kinds = ['files', 'pieces'] as const;
type Kind = (typeof kinds)[number];

/** Files that a store removed within the last day; they count towards the room until they are deleted. */
export type Trash = Readonly<{
  /** Moves something here; false where it is not there. */
  put: (kind: Kind, file: string) => Promise<boolean>;
  /** Moves a file back and returns its size, which stays counted; undefined where it is not here. */
  takeBack: (kind: Kind, file: string) => Promise<number | undefined>;
  names: (kind: Kind) => Promise<readonly string[]>;
  /** Deletes the files that were moved here before a time. */
  empty: (beforeMs: number) => Promise<void>;
  /** Counts what an earlier run left here. */
  load: () => Promise<void>;
}>;

/** Makes the folders of a trash. */
export async function makeTrashFolders(folder: string): Promise<void> {
  for (const kind of kinds) await mkdir(path.join(folder, kind), { recursive: true, mode: 0o700 });
}

/** The trash of a store whose folders are made; its entries keep the names that they had. */
export function createTrash({ folder, room, now }: Readonly<{ folder: string; room: Room; now: () => number }>): Trash {
  const below = (kind: Kind, file: string): string => path.join(folder, kind, path.basename(file));
  const names: Trash['names'] = async (kind) => await readdir(path.join(folder, kind));
  const sizeOf = async (kind: Kind, name: string): Promise<number> => {
    const entry = await statOf(below(kind, name));
    return entry?.isFile() === true ? entry.size : 0;
  };
  const remove = async (kind: Kind, name: string): Promise<void> => {
    room.giveBack(await sizeOf(kind, name));
    await rm(below(kind, name), { recursive: true, force: true });
  };
  return {
    names,
    put: async (kind, file) => {
      if (await statOf(below(kind, file))) await remove(kind, path.basename(file));
      if (!(await advanced(file, below(kind, file)))) return false;
      await utimes(below(kind, file), now() / 1000, now() / 1000);
      room.add(await sizeOf(kind, file));
      return true;
    },
    takeBack: async (kind, file) => {
      const size = await sizeOf(kind, file);
      return (await advanced(below(kind, file), file)) ? size : undefined;
    },
    empty: async (beforeMs) => {
      for (const kind of kinds)
        for (const name of await names(kind)) {
          const entry = await statOf(below(kind, name));
          if (entry && entry.mtimeMs < beforeMs) await remove(kind, name);
        }
    },
    load: async () => {
      for (const kind of kinds) for (const name of await names(kind)) room.add(await sizeOf(kind, name));
    },
  };
}

async function advanced(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    await syncFolder(path.dirname(from));
    await syncFolder(path.dirname(to));
    return true;
  } catch (caught) {
    if (codeOf(caught) === 'ENOENT') return false;
    throw caught;
  }
}
