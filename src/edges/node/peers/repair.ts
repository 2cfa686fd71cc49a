import pLimit from 'p-limit';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PieceHash } from '../storage/piece-hash.ts';
import type { StoredFile } from '../storage/manifest.ts';
import type { Peer } from './directory.ts';
import { createGiving, type Giving } from './giving.ts';
import type { Placement } from './placement.ts';
import type { Acceptance } from './acceptance.ts';
import { createPull, type PullOptions } from './pull.ts';
import type { Neighbours } from './neighbours.ts';
import type { Diagnostics } from '../status/diagnostics.ts';

/** Passes over all files of a node. */
export type Repair = Readonly<{
  pass: () => Promise<void>;
  /**
   * Files that were complete here at the last pass and that no other active node was seen to hold; 0 before there was
   * one, and where the chain lists no other active node.
   */
  singles: () => number;
}>;

/** The parts that a repair works with. */
export type PieceRepairOptions = PullOptions &
  Readonly<{
    account: string;
    neighbours: Neighbours;
    placement: Pick<Placement, 'holdersNow'>;
    diagnostics: Pick<Diagnostics, 'stores'>;
    isTrue: Acceptance['isTrue'];
  }>;

const filesATurn = 200;
const peersAtOnce = 4;
/** As many names as fit into one question. */
const namesAPage = 4_000;
const againAfterMs = 86_400_000;

/**
 * Makes copies that are missing, here and at others.
 *
 * The node queries a peer about a file when the peer becomes a holder of it, when the file has changed, when the peer
 * was started anew, and once a day: a pass without changes only checks which peers are there. A failure concerns one
 * file, or one peer, and the next pass tries again.
 */
export function createRepair(options: PieceRepairOptions): Repair {
  const { account, neighbours, placement, storage, diagnostics } = options;
  const pull = createPull(options);
  const confirmed = createConfirmations(neighbours.startOf);
  let singles = 0;
  const pass = async (): Promise<void> => {
    await neighbours.keepInTouch();
    await storage.loaded;
    const peers = new Map((await neighbours.all('repair')).map((peer) => [peer.account, peer]));
    const holdersOf = await placement.holdersNow();
    const wanted = new Map<Peer, StoredFile[]>();
    const lacking: string[] = [];
    for (const [turn, actionId] of storage.index.files().entries()) {
      if (turn % filesATurn === filesATurn - 1) await nextTurn();
      const file = storage.index.file(actionId);
      const holders = await holdersOf(actionId).catch((): readonly string[] => []);
      if (!file) continue;
      if (holders.includes(account) && storage.index.lacking(actionId).length > 0) lacking.push(actionId);
      for (const holder of holders) {
        const peer = peers.get(holder);
        if (!peer || confirmed.has(peer, file)) continue;
        const files = wanted.get(peer) ?? [];
        files.push(file);
        wanted.set(peer, files);
      }
    }
    await pull(lacking);
    const giving = createGiving(neighbours, storage);
    await pLimit(peersAtOnce).map(wanted, async ([peer, files]) => {
      for (const page of pagesOf(files)) {
        const done = await repairAt(peer, { page, options, giving }).catch(() => undefined);
        if (!done) return;
        for (const file of done) confirmed.add(peer, file);
      }
    });
    giving.end(diagnostics);
    const isHeld = async (file: StoredFile): Promise<boolean> => {
      const holders = await holdersOf(file.actionId).catch((): readonly string[] => []);
      return holders.some((holder) => {
        const peer = peers.get(holder);
        return peer !== undefined && confirmed.has(peer, file);
      });
    };
    singles = peers.size === 0 ? 0 : await countSingles(storage.index, isHeld);
  };
  return { pass, singles: () => singles };
}

/** Files that lie here in full and are held by nobody else. */
async function countSingles(
  index: PieceRepairOptions['storage']['index'],
  isHeld: (file: StoredFile) => Promise<boolean>,
): Promise<number> {
  let count = 0;
  for (const [turn, actionId] of index.files().entries()) {
    if (turn % filesATurn === filesATurn - 1) await nextTurn();
    const file = index.file(actionId);
    if (file && index.lacking(actionId).length === 0 && !(await isHeld(file))) count += 1;
  }
  return count;
}

type PageAt = Readonly<{ page: readonly StoredFile[]; options: PieceRepairOptions; giving: Giving }>;

/** Sends a peer the pieces that it lacks of some files; returns the files that it has in full now. */
async function repairAt(peer: Peer, { page, options, giving }: PageAt): Promise<readonly StoredFile[]> {
  const names = [...new Set(page.flatMap(({ pieces }) => pieces))];
  const answer = await options.neighbours.ask(peer, { case: 'missing', value: { names } });
  const missing = new Set(answer.names);
  const done: StoredFile[] = [];
  for (const file of page) {
    const isMissing = file.pieces.length === 0 || file.pieces.some((hash) => missing.has(hash));
    const here = isMissing && (await isToGive(file, options)) ? file.pieces.filter((hash) => missing.has(hash)) : [];
    if (!isMissing || (await giveFile(peer, { file, here, giving }))) done.push(file);
  }
  return done.filter(({ pieces }) => pieces.every((hash) => !missing.has(hash) || options.storage.index.isHere(hash)));
}

/** Returns whether a file is complete and true: a false one that another node sent is not passed on. */
async function isToGive(
  { actionId, pieces }: StoredFile,
  { storage: { index }, isTrue }: PieceRepairOptions,
): Promise<boolean> {
  if (index.lacking(actionId).length > 0) return false;
  return (await isTrue(actionId)) && index.file(actionId)?.pieces === pieces;
}

async function giveFile(
  peer: Peer,
  { file, here, giving }: Readonly<{ file: StoredFile; here: readonly PieceHash[]; giving: Giving }>,
): Promise<boolean> {
  if (file.pieces.length > 0 && here.length === 0) return false;
  return (await giving.manifest(peer, file)) && (await giving.pieces(peer, here));
}

/** Files in pages of as many pieces as one question may name. */
function pagesOf(files: readonly StoredFile[]): StoredFile[][] {
  const pages: StoredFile[][] = [];
  let names = namesAPage;
  for (const file of files) {
    if (names + file.pieces.length > namesAPage) {
      pages.push([]);
      names = 0;
    }
    pages.at(-1)?.push(file);
    names += file.pieces.length;
  }
  return pages;
}

type Confirmations = Readonly<{
  has: (peer: Peer, file: StoredFile) => boolean;
  add: (peer: Peer, file: StoredFile) => void;
}>;

/** Which files peers were seen to have, since their last start and within a day. */
function createConfirmations(startOf: (account: string) => string | undefined): Confirmations {
  const seen = new Map<
    string,
    { start: string | undefined; sinceMs: number; files: Map<string, StoredFile['pieces']> }
  >();
  const of = ({ account }: Peer): Map<string, StoredFile['pieces']> => {
    const before = seen.get(account);
    const start = startOf(account);
    if (before?.start === start && before && performance.now() - before.sinceMs < againAfterMs) return before.files;
    const files = new Map<string, StoredFile['pieces']>();
    seen.set(account, { start, sinceMs: performance.now(), files });
    return files;
  };
  return {
    has: (peer, { actionId, pieces }) => of(peer).get(actionId) === pieces,
    add: (peer, { actionId, pieces }) => void of(peer).set(actionId, pieces),
  };
}
