import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { isActionId } from '../../chain/rest/values.ts';
import { writeAll } from '../../../kit/durable.ts';
import { createInTurn } from '../../../kit/in-turn.ts';
import { readDisk } from './disk-reads.ts';
import {
  decodeStored,
  encodeStored,
  type FileMarks,
  isSameManifest,
  type StoredFile,
  type Manifest,
} from './manifest.ts';
import type { Room } from './room.ts';
import type { WrittenIndex } from './storage-index.ts';
import type { Trash } from './trash.ts';

/** Manifests on the disk, each under its action id. */
export type StoredFiles = Readonly<{
  /** Writes down what a file consists of; what is known of its action stays known. Fails with `NoRoom`. */
  keep: (manifest: Manifest) => Promise<void>;
  /** Writes marks to the record of a file's action; does nothing where the file is not kept. */
  mark: (actionId: string, marks: Partial<FileMarks>) => Promise<void>;
  /** Reads a file anew; undefined where there is none to be read. */
  read: (actionId: string) => Promise<StoredFile | undefined>;
  /** Moves a manifest to the trash. */
  forget: (actionId: string) => Promise<void>;
  /** Moves a manifest back from the trash. */
  takeBack: (actionId: string) => Promise<void>;
  /** Writes the manifest of a file anew where the disk has another one than the index. */
  check: (actionId: string) => Promise<void>;
  /** Names of manifests that the disk has. */
  names: () => Promise<readonly string[]>;
  fileOf: (actionId: string) => string;
}>;

/** The parts of a store that manifests belong to; `onChange` receives each file that changes. */
type FilesOptions = Readonly<{
  incoming: string;
  index: WrittenIndex;
  trash: Trash;
  room: Room;
  onChange: (actionId: string) => void;
}>;

/** The manifests in a folder; works on one file take their turns. */
export function openStoredFiles(folder: string, options: FilesOptions): StoredFiles {
  const { incoming, index, trash, room, onChange } = options;
  const inTurn = createInTurn();
  const fileOf = (actionId: string): string => path.join(folder, fileName(actionId));
  const read: StoredFiles['read'] = async (actionId) => {
    const bytes = await readDisk(fileOf(actionId));
    const file = Buffer.isBuffer(bytes) ? decodeStored(bytes) : undefined;
    return file?.actionId === actionId ? file : undefined;
  };
  const write = createWriting(fileOf, { incoming, index, room, onChange });
  return {
    fileOf,
    read,
    names: async () => (await readdir(folder)).filter(isActionId),
    keep: async (manifest) =>
      await inTurn(manifest.actionId, async () => {
        const { isFinalized = false, group } = index.file(manifest.actionId) ?? {};
        await write({ ...manifest, isFinalized, group });
      }),
    mark: async (actionId, marks) =>
      await inTurn(actionId, async () => {
        const file = index.file(actionId);
        if (file) await write({ ...file, ...marks });
      }),
    forget: async (actionId) =>
      await inTurn(actionId, async () => {
        const file = index.file(actionId);
        await trash.put('files', fileOf(actionId));
        if (file) room.giveBack(encodeStored(file).length);
        index.forget(actionId);
        onChange(actionId);
      }),
    takeBack: async (actionId) =>
      await inTurn(actionId, async () => {
        if (index.file(actionId) || (await trash.takeBack('files', fileOf(actionId))) === undefined) return;
        const file = await read(actionId);
        if (file) index.keep(file);
        onChange(actionId);
      }),
    check: async (actionId) =>
      await inTurn(actionId, async () => {
        const [known, written] = [index.file(actionId), await read(actionId)];
        if (known && !(written && isSameManifest(known, written))) await write(known);
      }),
  };
}

/** Writes a manifest and counts its bytes. */
function createWriting(
  fileOf: (actionId: string) => string,
  { incoming, index, room, onChange }: Omit<FilesOptions, 'trash'>,
): (file: StoredFile) => Promise<void> {
  return async (file) => {
    const [bytes, before] = [encodeStored(file), index.file(file.actionId)];
    const more = bytes.length - (before ? encodeStored(before).length : 0);
    // What is known of a file that lies here is written also where the store is full.
    if (before) room.add(more);
    else await room.take(more);
    await writeAll(fileOf(file.actionId), bytes, incoming).catch((caught: unknown) => {
      room.giveBack(more);
      throw caught;
    });
    index.keep(file);
    onChange(file.actionId);
  };
}

/** Only a number becomes the name of a file: no text of a client ever does. */
function fileName(actionId: string): string {
  if (!isActionId(actionId)) throw new Error('An action id that is none came as far as the store');
  return actionId;
}
