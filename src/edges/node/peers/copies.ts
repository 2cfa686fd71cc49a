import { decodeManifest, type Manifest } from '../storage/manifest.ts';
import type { Diagnostics } from '../status/diagnostics.ts';
import type { Peer } from './directory.ts';
import { type CompleteFiles, createCompleteFiles } from './complete-files.ts';
import { createPeerQueue, giveFile } from './give-file.ts';
import { createGiving, createRecentPeers, type Haste } from './giving.ts';
import { createPeerPace } from './peer-pace.ts';
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
  /** Reads all pieces of a file. */
  complete: CompleteFiles;
  /** Fetches pieces that are missing here, and sends pieces that are here to the nodes that should hold them. */
  repair: () => Promise<void>;
  /** Files that no other node was seen to hold when they were last repaired. */
  singles: () => number;
}>;

/** What copies are made with, and how many there should be. */
export type CopiesOptions = ReaderOptions &
  Pick<PieceRepairOptions, 'isTrue'> &
  Readonly<{ diagnostics: Pick<Diagnostics, 'stores'>; copies: number; limitsMs?: Haste['limitsMs'] | undefined }>;

/** A client waits for a file: a peer that does not accept a message of it in so long gives way to another. */
const hastyMs: Haste['limitsMs'] = { putManifest: 2_000, putPiece: 5_000 };

/** One of a thousand pieces that came when a peer's disk was behind does not lose a file its second copy. */
const patientTries = 3;

/** So many copies must be on disks before an action is finalized, where the chain lists another active node. */
export const fewestCopies = 2;

/** Maintains the configured number of copies of files. */
export function createCopies(options: CopiesOptions): Copies {
  const { neighbours, placement, storage, diagnostics, copies } = options;
  const reader = createPieceReaders(options);
  const haste: Haste = { pace: createPeerPace(), slow: createRecentPeers(), limitsMs: options.limitsMs ?? hastyMs };
  const { slow } = haste;
  const overtaken = createRecentPeers();
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
    complete: createCompleteFiles({ manifests, reader, storage }),
    spread: async (manifest) => {
      const { group, rest, listed } = await placement.candidates(manifest.actionId, 'transfer');
      const spread = { copies: 1, listed };
      const give = async (peers: readonly Peer[], enough: number, isHasty: boolean): Promise<ReadonlySet<Peer>> => {
        const queue = createPeerQueue();
        const withinMs = isHasty ? haste.limitsMs.putPiece : undefined;
        const reachable = await neighbours.reachable(peers, { enough, withinMs, onLate: queue.add });
        // Those that were overtaken lately are no worse, but the others are faster.
        queue.add(...reachable.toSorted((one, other) => Number(overtaken.has(one)) - Number(overtaken.has(other))));
        const giving = createGiving(neighbours, storage, isHasty ? { haste } : { tries: patientTries });
        spread.copies += await giveFile(queue, { manifest, giving, wanted: enough, onOvertaken: overtaken.add });
        giving.end(diagnostics);
        return queue.taken;
      };
      // Those that answer and accept at once have the file first, and the client waits for the slow ones only where the
      // file would have no second copy: repair brings the others later. Then nobody has it, and those that refused it
      // are asked once more.
      const tried = new Set<Peer>();
      for (const peers of [() => group, rest])
        for (let isProgress = true; isProgress && spread.copies < copies;) {
          const left = peers().filter((peer) => !tried.has(peer) && !slow.has(peer));
          const taken = await give(left, copies - spread.copies, true);
          taken.forEach((peer) => slow.has(peer) || tried.add(peer));
          isProgress = taken.size > 0;
        }
      for (const peers of [() => group, rest])
        if (spread.copies < Math.min(fewestCopies, copies)) await give(peers(), copies - spread.copies, false);
      return spread;
    },
    repair: repair.pass,
    singles: repair.singles,
  };
}
