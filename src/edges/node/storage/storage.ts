import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { writeSynced } from '../../../kit/durable.ts';
import { startDraft, type ReceivedFile } from './draft.ts';
import { createDraftRoom } from './draft-room.ts';
import { openStoredFiles } from './kept-files.ts';
import { loadIndex } from './load-index.ts';
import type { FileMarks, StoredFile, Manifest } from './manifest.ts';
import { makePieceFolders, openPieces, type Pieces } from './pieces.ts';
import { createRoom, type Room } from './room.ts';
import { createStorageIndex, type StorageIndex } from './storage-index.ts';
import { type ActionVerdict, sweep } from './sweep.ts';
import { createTrash, makeTrashFolders } from './trash.ts';

/** A node's store: pieces, and manifests of the files that they belong to. */
export type Storage = Readonly<{
  /** Where all of it lies. */
  folder: string;
  pieces: Pieces;
  /** What lies here, in memory; complete once `loaded` has settled. */
  index: StorageIndex;
  /** Settles once everything on the disk is in the index. */
  loaded: Promise<void>;
  /** Bytes that pieces, manifests, unfinished files and the trash take. */
  used: () => number;
  /** Starts to receive a file. */
  receive: () => Promise<ReceivedFile>;
  /** Writes down what a file consists of; from then on its pieces stay. */
  keep: (manifest: Manifest) => Promise<void>;
  /** Writes down what is known of a file's action. */
  mark: (actionId: string, marks: Partial<FileMarks>) => Promise<void>;
  manifest: (actionId: string) => Promise<StoredFile | undefined>;
  /** Writes a file's manifest anew where the disk has lost it. */
  check: (actionId: string) => Promise<void>;
  /** Moves a file's manifest to the trash; pieces that no other file has follow with a later sweep. */
  forget: (actionId: string) => Promise<void>;
  /** Action ids of all files, in no order. */
  files: () => Promise<readonly string[]>;
  /** Files whose manifests cannot be read. */
  unreadable: () => readonly string[];
  /**
   * Moves to the trash what is older than an hour and belongs to nothing: files that go, pieces of no file. What was
   * being received goes at once. Such are left by crashes, and by files that were forgotten.
   */
  sweep: (judge?: ActionVerdict) => Promise<void>;
}>;

/**
 * The folder of a store and its limit of size (-1: the size of its disk); its clock returns unix milliseconds.
 * `onChange` receives each file that is kept, forgotten or marked, and of which a piece came or went.
 */
export type StorageOptions = Readonly<{
  folder: string;
  bound: number;
  now?: () => number;
  onChange?: (actionId: string) => void;
  /** Writes a piece of a file that is being received, and settles once the disk has it. */
  writePiece?: typeof writeSynced;
}>;

/**
 * Opens a store, made where there is none. What a crash left half written is removed.
 *
 * The index is read behind the answer; what needs all of it waits. One process at a time has a store open.
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const { folder, bound, now = () => Date.now(), onChange = () => undefined, writePiece = writeSynced } = options;
  const [incoming, fileFolder, pieceFolder, trashFolder] = (['incoming', 'files', 'pieces', 'trash'] as const).map(
    (name) => path.join(folder, name),
  ) as [string, string, string, string];
  await rm(incoming, { recursive: true, force: true });
  for (const one of [incoming, fileFolder]) await mkdir(one, { recursive: true, mode: 0o700 });
  await makePieceFolders(pieceFolder);
  await makeTrashFolders(trashFolder);
  const index = createStorageIndex();
  const room = createRoom({ folder, bound, used: 0 });
  const trash = createTrash({ folder: trashFolder, room, now });
  const files = openStoredFiles(fileFolder, { incoming, index, trash, room, onChange });
  const unreadable = new Set<string>();
  const load = async (): Promise<void> => {
    await trash.load();
    for (const actionId of await loadIndex({ pieceFolder, files, index, room })) unreadable.add(actionId);
  };
  const loaded = load();
  loaded.catch(() => undefined);
  const laterRoom = afterLoading(room, loaded);
  const pieces = openPieces(pieceFolder, { incoming, room: laterRoom, index, trash, now, onChange });
  const inUse = new Set<string>();
  const shares = createDraftRoom(laterRoom, bound);
  const keep: Storage['keep'] = async (manifest) => {
    await loaded;
    await files.keep(manifest);
    unreadable.delete(manifest.actionId);
  };
  return {
    folder,
    pieces: afterLoad(pieces, loaded),
    index,
    loaded,
    used: room.used,
    receive: async () => await startDraft({ incoming, pieces, room: laterRoom, shares, inUse, write: writePiece }),
    keep,
    mark: async (actionId, marks) => await loaded.then(() => files.mark(actionId, marks)),
    manifest: files.read,
    check: files.check,
    forget: async (actionId) => await loaded.then(() => files.forget(actionId)),
    files: async () => await loaded.then(() => index.files()),
    unreadable: () => [...unreadable],
    sweep: async (judge = async () => 'unknown') => {
      await loaded;
      const knowsAllFiles = (): boolean => unreadable.size === 0;
      await sweep({ incoming, index, files, pieces, trash, knowsAllFiles, inUse, now }, judge);
    },
  };
}

/** The remaining room is unknown before everything that lies here was counted. */
function afterLoading(room: Room, loaded: Promise<void>): Room {
  return { ...room, take: async (bytes) => await loaded.then(() => room.take(bytes)) };
}

/** Functions that write, or report what is here, wait for the index; a piece is read at once. */
function afterLoad(pieces: Pieces, loaded: Promise<void>): Pieces {
  return {
    ...pieces,
    put: async (bytes) => await loaded.then(() => pieces.put(bytes)),
    adopt: async (files, onAdopted) => await loaded.then(() => pieces.adopt(files, onAdopted)),
    has: async (hash) => await loaded.then(() => pieces.has(hash)),
  };
}
