import { decodeManifest, type Manifest } from '../storage/manifest.ts';
import type { Diagnostics } from '../status/diagnostics.ts';
import type { Peer } from './directory.ts';
import { createGiving, createSlowPeers, type Giving, hastyMs } from './giving.ts';
import { createPieceReaders, type PieceReader, type ReaderOptions } from './piece-reader.ts';
import { createRepair, type PieceRepairOptions } from './repair.ts';

/** Copies of files on other nodes. */
export type Copies = Readonly<{
  /**
   * Brings a file that is here in full to where it belongs; `copies` counts the nodes that have all of it, this one
   * too, `listed` the other active ones that the chain lists.
   */
  spread: (manifest: Manifest) => Promise<Readonly<{ copies: number; listed: number }>>;
  /** The manifests that a file may have, first this node's and then those of the others. */
  manifests: (actionId: string) => AsyncIterable<Manifest>;
  reader: PieceReader;
  /** Fetches pieces that are missing here, and sends pieces that are here to the nodes that should hold them. */
  repair: () => Promise<void>;
  /** Files that no other node was seen to hold when they were last repaired. */
  singles: () => number;
}>;

/** What copies are made with, and how many there should be. */
export type CopiesOptions = ReaderOptions &
  Pick<PieceRepairOptions, 'isTrue'> &
  Readonly<{ diagnostics: Pick<Diagnostics, 'stores'>; copies: number }>;

/** So many copies must be on disks before an action is finalized, where the chain lists another active node. */
export const fewestCopies = 2;

/** Maintains the configured number of copies of files. */
export function createCopies(options: CopiesOptions): Copies {
  const { neighbours, placement, storage, diagnostics, copies } = options;
  const reader = createPieceReaders(options);
  const slow = createSlowPeers();
  const manifests: Copies['manifests'] = async function* (actionId) {
    const own = await storage.manifest(actionId).catch(() => undefined);
    if (own) yield own;
    const { group, rest } = await placement.candidates(actionId, 'transfer');
    for (const peers of [() => group, rest])
      for (const peer of peers()) {
        const answer = await neighbours.ask(peer, { case: 'getManifest', value: actionId }).catch(() => undefined);
        const manifest = answer?.done ? decodeManifest(answer.data) : undefined;
        if (manifest?.actionId === actionId) yield manifest;
      }
  };
  const repair = createRepair({ ...options, manifests, reader });
  return {
    manifests,
    reader,
    spread: async (manifest) => {
      const { group, rest, listed } = await placement.candidates(manifest.actionId, 'transfer');
      const spread = { copies: 1, listed };
      const give = async (peers: readonly Peer[], enough: number, isHasty: boolean): Promise<readonly Peer[]> => {
        const reachable = await neighbours.reachable(peers, enough, isHasty ? hastyMs : undefined);
        const giving = createGiving(neighbours, storage, isHasty ? slow : undefined);
        spread.copies += await giveTo(reachable, { manifest, giving, wanted: enough });
        giving.end(diagnostics);
        return reachable;
      };
      // Those that answer and accept at once have the file first, and the client waits for the slow ones only where the
      // file would have no second copy: repair brings the others later.
      const tried = new Set<Peer>();
      for (const peers of [() => group, rest])
        for (let isProgress = true; isProgress && spread.copies < copies;) {
          const left = peers().filter((peer) => !tried.has(peer) && !slow.has(peer));
          const reachable = await give(left, copies - spread.copies, true);
          reachable.filter((peer) => !slow.has(peer)).forEach((peer) => tried.add(peer));
          isProgress = reachable.length > 0;
        }
      for (const peers of [() => group, rest])
        if (spread.copies < Math.min(fewestCopies, copies))
          await give(
            peers().filter((peer) => !tried.has(peer)),
            copies - spread.copies,
            false,
          );
      return spread;
    },
    repair: repair.pass,
    singles: repair.singles,
  };
}

type Spreading = Readonly<{ manifest: Manifest; giving: Giving; wanted: number }>;

/** Sends a file to so many nodes in their order; one that fails is followed by the next. */
async function giveTo(peers: readonly Peer[], { manifest, giving, wanted }: Spreading): Promise<number> {
  let input = 0;
  for (let next = 0; input < wanted && next < peers.length;) {
    const some = peers.slice(next, next + wanted - input);
    next += some.length;
    const isAccepted = await Promise.all(some.map((peer) => giving.manifest(peer, manifest)));
    const takers = some.filter((_, index) => isAccepted[index]);
    input += (await giving.pieces(takers, manifest.pieces)).length;
  }
  return input;
}
