import type { Manifest } from '../storage/manifest.ts';
import type { Storage } from '../storage/storage.ts';
import { judge } from './judge.ts';
import type { PieceReader } from './piece-reader.ts';

/** Fetches what some files lack here, from the trash or from others. */
export type Pull = (actionIds: readonly string[]) => Promise<void>;

/** Where pieces and manifests are fetched from. */
export type PullOptions = Readonly<{
  storage: Storage;
  /** The manifests that a file may have, first this node's and then those of the others. */
  manifests: (actionId: string) => AsyncIterable<Manifest>;
  reader: PieceReader;
}>;

const firstPauseMs = 30_000;
const longestPauseMs = 3_600_000;
const piecesAPass = 512;

/**
 * Fetches pieces and manifests that the disk has lost. It tries files that no node has ever more rarely, down to once
 * an hour.
 */
export function createPull({ storage, manifests, reader }: PullOptions): Pull {
  const failed = new Map<string, Readonly<{ pauseMs: number; untilMs: number }>>();
  const isDue = (actionId: string): boolean => (failed.get(actionId)?.untilMs ?? 0) <= performance.now();
  const note = (actionId: string, isDone: boolean): void => {
    const pauseMs = Math.min(2 * (failed.get(actionId)?.pauseMs ?? firstPauseMs / 2), longestPauseMs);
    if (isDone) failed.delete(actionId);
    else failed.set(actionId, { pauseMs, untilMs: performance.now() + pauseMs });
  };
  const pullPieces = async (actionId: string, most: number): Promise<void> => {
    const read = reader(actionId);
    for (const hash of storage.index.lacking(actionId).slice(0, most))
      if (!(await storage.pieces.takeBack(hash)) && !(await read(hash))) return;
  };
  const pullManifest = async (actionId: string): Promise<void> => {
    const own = await storage.manifest(actionId).catch(() => undefined);
    if (own) return await storage.keep(own);
    for await (const manifest of manifests(actionId))
      if ((await judge(manifest, reader(actionId))).isTrue) return await storage.keep(manifest);
  };
  return async (actionIds) => {
    let left = piecesAPass;
    for (const actionId of actionIds.filter(isDue)) {
      if (left <= 0) break;
      const before = storage.index.lacking(actionId).length;
      await pullPieces(actionId, left);
      const after = storage.index.lacking(actionId).length;
      left -= Math.max(1, before - after);
      note(actionId, after < before);
    }
    for (const actionId of storage.unreadable().filter(isDue)) {
      await pullManifest(actionId);
      note(actionId, !storage.unreadable().includes(actionId));
    }
  };
}
