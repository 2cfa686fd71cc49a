import path from 'node:path';
import { toAppError } from '../../../kit/errors.ts';
import { writeAll } from '../../../kit/durable.ts';
import type { Logger } from '../../../kit/logger.ts';
import { wait } from '../../../kit/wait.ts';
import type { PieceHash } from './piece-hash.ts';
import { readScrubStates, type ScrubState, type ScrubStates } from './scrub-state.ts';
import type { Storage } from './storage.ts';

/** The reading of all pieces, again and again. */
export type Scrub = Readonly<{
  states: () => ScrubStates;
}>;

/** How fast pieces are read. */
export type ScrubPace = Readonly<{
  /** Pause after each piece. */
  pauseMs: number;
  /** From the start of one pass to that of the next, where it does not take longer. */
  eachMs: number;
}>;

/** The store to scrub, and a function that fetches a piece again; it returns false where no node has the piece. */
export type PieceScrubOptions = Readonly<{
  storage: Storage;
  mend: (actionId: string, hash: PieceHash) => Promise<boolean>;
  pace?: ScrubPace | undefined;
  logger: Logger;
  signal: AbortSignal;
}>;

/** At most 4 MiB/s are read and hashed: less than a hundredth of a core. */
const usualPace: ScrubPace = { pauseMs: 250, eachMs: 86_400_000 };
const savedEachMs = 30_000;
const fileOfState = 'scrub.json';

/**
 * Reads and hashes every piece that a file names, one after the other, and has a damaged one fetched again. A pass that
 * a restart cuts off resumes where it was.
 */
export function startScrub({ storage, mend, pace = usualPace, logger, signal }: PieceScrubOptions): Scrub {
  const file = path.join(storage.folder, fileOfState);
  let current: ScrubState | undefined;
  let last: ScrubState | undefined;
  let savedAtMs = 0;
  const save = async (): Promise<void> => {
    savedAtMs = performance.now();
    const states = Buffer.from(JSON.stringify({ current, last }));
    await writeAll(file, states, path.join(storage.folder, 'incoming'));
  };
  const scrubPiece = async (state: ScrubState, actionId: string, hash: PieceHash): Promise<ScrubState> => {
    if (!storage.index.isHere(hash)) return state;
    const isSound = (await storage.pieces.get(hash)) !== undefined;
    const isRepaired = !isSound && (await mend(actionId, hash));
    if (!isSound) logger.warn({ actionId, hash, isMended: isRepaired }, 'a piece was damaged');
    return counted(state, { damaged: Number(!isSound), mended: Number(isRepaired) });
  };
  const scrubFile = async (state: ScrubState, actionId: string): Promise<ScrubState> => {
    let after = state;
    await storage.check(actionId);
    for (const hash of new Set(storage.index.file(actionId)?.pieces)) {
      if (signal.aborted) return state;
      after = await scrubPiece(after, actionId, hash);
      await wait(pace.pauseMs, signal);
    }
    return { ...after, cursor: actionId };
  };
  const pass = async (started: ScrubState): Promise<ScrubState> => {
    let state = started;
    for (const actionId of storage.index.files().toSorted(byNumber)) {
      if (signal.aborted) return state;
      if (state.cursor !== undefined && byNumber(actionId, state.cursor) <= 0) continue;
      // A file that cannot be read now, for want of descriptors perhaps, is read with the next pass.
      state = await scrubFile(state, actionId).catch(() => state);
      current = state;
      if (performance.now() - savedAtMs > savedEachMs) await save();
    }
    return { ...state, finishedAt: new Date().toISOString() };
  };
  const run = async (): Promise<void> => {
    await storage.loaded;
    ({ current, last } = await readScrubStates(file));
    while (!signal.aborted) {
      const dueMs = last ? Date.parse(last.startedAt) + pace.eachMs - Date.now() : 0;
      if (!current && dueMs > 0) await wait(dueMs, signal);
      if (signal.aborted) return;
      current ??= { startedAt: new Date().toISOString(), pieces: 0, damaged: 0, mended: 0 };
      const ended = await pass(current);
      if (ended.finishedAt !== undefined) [current, last] = [undefined, ended];
      await save();
    }
  };
  run().catch((caught: unknown) => logger.error({ err: toAppError(caught) }, 'pieces are not scrubbed any more'));
  return { states: () => ({ current, last }) };
}

function counted(state: ScrubState, { damaged, mended }: Pick<ScrubState, 'damaged' | 'mended'>): ScrubState {
  const { pieces, damaged: damagedBefore, mended: repairedBefore } = state;
  return { ...state, pieces: pieces + 1, damaged: damagedBefore + damaged, mended: repairedBefore + mended };
}

/** Action ids are decimal numbers of any length. */
function byNumber(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : Number(a > b);
}
