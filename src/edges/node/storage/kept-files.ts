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
import type { WrittenIndex } from './storage-index.ts';
import type { Trash } from './trash.ts';

/** Manifests on the disk, each under its action id. */
export type StoredFiles = Readonly<{
  /** Writes down what a file consists of; what is known of its action stays known. */
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

/** The manifests in a folder; works on one file take their turns. */
export function openStoredFiles(
  folder: string,
  {
    incoming,
    index,
    trash,
    onChange,
  }: Readonly<{ incoming: string; index: WrittenIndex; trash: Trash; onChange: (actionId: string) => void }>,
): StoredFiles {
  const inTurn = createInTurn();
  const fileOf = (actionId: string): string => path.join(folder, fileName(actionId));
  const read: StoredFiles['read'] = async (actionId) => {
    const bytes = await readDisk(fileOf(actionId));
    const file = Buffer.isBuffer(bytes) ? decodeStored(bytes) : undefined;
    return file?.actionId === actionId ? file : undefined;
  };
  const write = async (file: StoredFile): Promise<void> => {
    await writeAll(fileOf(file.actionId), encodeStored(file), incoming);
    index.keep(file);
    onChange(file.actionId);
  };
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
        await trash.put('files', fileOf(actionId));
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

/** Only a number becomes the name of a file: no text of a client ever does. */
function fileName(actionId: string): string {
  if (!isActionId(actionId)) throw new Error('An action id that is none came as far as the store');
  return actionId;
}
