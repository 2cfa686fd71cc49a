import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { isActionId } from '../../indexer/chain/values.ts';
import { beginDraft, type Draft } from './draft.ts';
import { syncFolder, writeWhole } from '../../kit/durable.ts';
import { decodeManifest, encodeManifest, type Manifest } from './manifest.ts';
import { listPieces, makePieceFolders, openPieces, type Pieces, unlessMissing } from './pieces.ts';
import { createRoom } from './room.ts';

/** What a node stores: pieces, and manifests of the files that they belong to. */
export type Storage = Readonly<{
  /** Where all of it lies. */
  folder: string;
  pieces: Pieces;
  /** Bytes that pieces and unfinished files take. */
  used: () => number;
  /** Begins to receive a file. */
  receive: () => Promise<Draft>;
  /** Writes down what a file consists of; from then on its pieces stay. */
  keep: (manifest: Manifest) => Promise<void>;
  manifest: (actionId: string) => Promise<Manifest | undefined>;
  /** Takes a file's manifest away; pieces that no other file has go with a later sweep. */
  forget: (actionId: string) => Promise<void>;
  /** Action ids of all files, in no order. */
  files: () => Promise<readonly string[]>;
  /**
   * Removes what is older than an hour and belongs to nothing: files that do not stay, pieces of no file, what was
   * being received. Such are left by crashes, and by files that were forgotten.
   */
  sweep: (stays?: (actionId: string) => Promise<boolean>) => Promise<void>;
}>;

/** Where a store lies and how large it may become (-1: as its disk is); its clock gives unix milliseconds. */
export type StorageOptions = Readonly<{ folder: string; bound: number; now?: () => number }>;

const leftAloneMs = 3_600_000;

/**
 * Opens a store, made where there is none. What a crash left half written is removed.
 *
 * One process at a time has a store open.
 */
export async function openStorage({ folder, bound, now = () => Date.now() }: StorageOptions): Promise<Storage> {
  const [incoming, files, pieceFolder] = ['incoming', 'files', 'pieces'].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ];
  await rm(incoming, { recursive: true, force: true });
  for (const one of [incoming, files, pieceFolder]) await mkdir(one, { recursive: true, mode: 0o700 });
  await makePieceFolders(pieceFolder);
  let used = 0;
  for await (const { bytes } of listPieces(pieceFolder)) used += bytes;
  const room = createRoom({ folder, bound, used });
  const pieces = openPieces(pieceFolder, { incoming, room, now });
  const fileOf = (actionId: string): string => path.join(files, fileName(actionId));
  const manifest: Storage['manifest'] = async (actionId) => {
    const bytes = await readFile(fileOf(actionId)).catch(unlessMissing);
    return bytes && decodeManifest(bytes);
  };
  const list: Storage['files'] = async () => (await readdir(files)).filter(isActionId);
  const storage: Omit<Storage, 'sweep'> = {
    folder,
    pieces,
    manifest,
    files: list,
    used: () => room.used(),
    receive: async () => await beginDraft({ incoming, pieces, room }),
    keep: async (one) => await writeWhole(fileOf(one.actionId), encodeManifest(one), incoming),
    forget: async (actionId) => {
      await rm(fileOf(actionId), { force: true });
      await syncFolder(files);
    },
  };
  const isOlder = async (file: string, beforeMs: number): Promise<boolean> => {
    const found = await stat(file).catch(unlessMissing);
    return found !== undefined && found.mtimeMs < beforeMs;
  };
  return {
    ...storage,
    sweep: async (stays = async () => true) => {
      const beforeMs = now() - leftAloneMs;
      for (const actionId of await list())
        if ((await isOlder(fileOf(actionId), beforeMs)) && !(await stays(actionId))) await storage.forget(actionId);
      await sweepPieces(storage, beforeMs);
      for (const name of await readdir(incoming))
        if (await isOlder(path.join(incoming, name), beforeMs))
          await rm(path.join(incoming, name), { recursive: true, force: true });
    },
  };
}

/** Only a number becomes the name of a file: no text of a client ever does. */
function fileName(actionId: string): string {
  if (!isActionId(actionId)) throw new Error('An action id that is none came as far as the store');
  return actionId;
}

async function sweepPieces(storage: Omit<Storage, 'sweep'>, beforeMs: number): Promise<void> {
  const manifests = await Promise.all((await storage.files()).map((actionId) => storage.manifest(actionId)));
  const named = new Set(manifests.flatMap((one) => one?.pieces ?? []));
  for await (const { hash, bytes, writtenAtMs } of storage.pieces.all())
    if (!named.has(hash) && writtenAtMs < beforeMs) await storage.pieces.remove(hash, bytes);
}

/** A store that tells whenever its files change. */
export function telling(storage: Storage, changed: () => void): Storage {
  return {
    ...storage,
    keep: async (manifest) => {
      await storage.keep(manifest);
      changed();
    },
    forget: async (actionId) => {
      await storage.forget(actionId);
      changed();
    },
    sweep: async (stays) => {
      await storage.sweep(stays);
      changed();
    },
  };
}
