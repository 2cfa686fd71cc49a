import { decodeManifest, type Manifest } from '../storage/manifest.ts';
import type { Diagnostics } from '../status/diagnostics.ts';
import type { Peer } from './directory.ts';
import { createGiving, type Giving } from './giving.ts';
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
}>;

/** What copies are made with, and how many there should be. */
export type CopiesOptions = ReaderOptions &
  Pick<PieceRepairOptions, 'isTrue'> &
  Readonly<{ diagnostics: Pick<Diagnostics, 'stores'>; copies: number }>;

/** Maintains the configured number of copies of files. */
export function createCopies(options: CopiesOptions): Copies {
  const { neighbours, placement, storage, diagnostics, copies } = options;
  const reader = createPieceReaders(options);
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
  return {
    manifests,
    reader,
    spread: async (manifest) => {
      const { group, rest, listed } = await placement.candidates(manifest.actionId, 'transfer');
      const giving = createGiving(neighbours, storage);
      const spread = { copies: 1, listed };
      const tried = new Set<Peer>();
      // Those that answer at once have the file first; then the slow ones are waited for, and the next ones follow.
      for (const [peers, enough] of [[() => group, copies - 1] as const, [() => group] as const, [rest] as const]) {
        if (spread.copies >= copies) break;
        const left = peers().filter((peer) => !tried.has(peer));
        const reachable = await neighbours.reachable(left, enough);
        for (const peer of reachable) tried.add(peer);
        spread.copies += await giveTo(reachable, { manifest, giving, wanted: copies - spread.copies });
      }
      giving.end(diagnostics);
      return spread;
    },
    repair: createRepair({ ...options, manifests, reader }),
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
