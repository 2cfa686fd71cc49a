import pLimit from 'p-limit';
import { decodeManifest, encodeManifest, type Manifest } from '../storage/manifest.ts';
import { hashPiece, type PieceHash } from '../storage/piece-hash.ts';
import type { Storage } from '../storage/storage.ts';
import type { Diagnostics } from '../status/diagnostics.ts';
import type { Bans } from './bans.ts';
import type { Peer } from './directory.ts';
import type { FoundPiece } from './judge.ts';
import type { Neighbours } from './neighbours.ts';
import { ranked } from './rank.ts';

/** Copies of files on other nodes. */
export type Copies = Readonly<{
  /**
   * Brings a file that is here whole to where it belongs; `copies` is of the piece that has fewest, this node's own
   * too.
   */
  spread: (manifest: Manifest) => Promise<Readonly<{ copies: number; reachable: number }>>;
  /** What a file may consist of, as this node and then the others say it. */
  manifests: (actionId: string) => AsyncIterable<Manifest>;
  /** A piece, from here or from whoever has it; undefined where nobody does. Who gives other bytes is counted. */
  piece: (hash: PieceHash) => Promise<FoundPiece | undefined>;
  /** Brings pieces that are here to those who should hold them and do not. */
  repair: () => Promise<void>;
}>;

/** What copies are made with, and how many there should be. */
export type CopiesOptions = Readonly<{
  neighbours: Neighbours;
  storage: Storage;
  bans: Bans;
  diagnostics: Pick<Diagnostics, 'stores' | 'hotPath'>;
  copies: number;
}>;

const atOnce = 4;

/** Keeps as many copies of files as there should be. */
export function createCopies({ neighbours, storage, bans, diagnostics, copies }: CopiesOptions): Copies {
  const limit = pLimit(atOnce);
  return {
    spread: async (manifest) => {
      const peers = await neighbours.reachable('transfer');
      const give = beginPass(neighbours, storage);
      const spreadPiece = async (hash: PieceHash): Promise<number> => {
        let held = 1;
        for (const peer of ranked(hash, peers)) if (held < copies && (await give.piece(peer, hash))) held += 1;
        return held;
      };
      const counts = await Promise.all([...new Set(manifest.pieces)].map((hash) => limit(() => spreadPiece(hash))));
      const told = await Promise.all(peers.map((peer) => give.manifest(peer, manifest)));
      give.end(diagnostics);
      return { copies: Math.min(...counts, 1 + told.filter(Boolean).length), reachable: peers.length };
    },
    manifests: async function* (actionId) {
      const own = await storage.manifest(actionId);
      if (own) yield own;
      for (const peer of ranked(actionId, await neighbours.all('transfer'))) {
        const answer = await neighbours.ask(peer, { case: 'getManifest', value: actionId }).catch(() => undefined);
        const manifest = answer?.done ? decodeManifest(answer.data) : undefined;
        if (manifest?.actionId === actionId) yield manifest;
      }
    },
    piece: async (hash) => {
      const own = await storage.pieces.get(hash);
      if (own) return { bytes: own, from: 'here' };
      for (const peer of ranked(hash, await neighbours.all('transfer'))) {
        const answer = await neighbours.ask(peer, { case: 'getPiece', value: hash }).catch(() => undefined);
        if (!answer?.done) continue;
        if (hashPiece(answer.data) === hash) {
          await storage.pieces.put(answer.data);
          return { bytes: Buffer.from(answer.data), from: 'elsewhere' };
        }
        bans.count(peer);
        diagnostics.hotPath.add('banIncrements');
      }
      return undefined;
    },
    repair: async () => {
      await neighbours.reachable('repair');
      const peers = await neighbours.all('repair');
      const give = beginPass(neighbours, storage);
      for (const actionId of await storage.files()) {
        const manifest = await storage.manifest(actionId);
        if (!manifest) continue;
        for (const peer of peers) await repairAt(peer, { manifest, peers, neighbours, give });
      }
      give.end(diagnostics);
    },
  };
}

type Give = Readonly<{
  piece: (peer: Peer, hash: PieceHash) => Promise<boolean>;
  manifest: (peer: Peer, manifest: Manifest) => Promise<boolean>;
  /** Counts the pass, if it asked anybody. */
  end: (diagnostics: Pick<Diagnostics, 'stores'>) => void;
}>;

/** Gives others what is here, and counts how that goes. */
function beginPass(neighbours: Neighbours, storage: Storage): Give {
  const pass = { requests: 0, successful: 0 };
  const isDone: Neighbours['isDone'] = async (peer, ask) => {
    pass.requests += 1;
    const done = await neighbours.isDone(peer, ask);
    if (done) pass.successful += 1;
    return done;
  };
  return {
    piece: async (peer, hash) => {
      const value = await storage.pieces.get(hash);
      return value !== undefined && (await isDone(peer, { case: 'putPiece', value }));
    },
    manifest: async (peer, manifest) => await isDone(peer, { case: 'putManifest', value: encodeManifest(manifest) }),
    end: ({ stores }) => {
      if (pass.requests === 0) return;
      const timeUnix = BigInt(Math.floor(Date.now() / 1000));
      stores.add({ timeUnix, ...pass, successRate: (100 * pass.successful) / pass.requests });
    },
  };
}

type Repair = Readonly<{ manifest: Manifest; peers: readonly Peer[]; neighbours: Neighbours; give: Give }>;

/** Gives a peer what it should hold of a file and does not. */
async function repairAt(peer: Peer, { manifest, peers, neighbours, give }: Repair): Promise<void> {
  const isHolder = (name: string): boolean => neighbours.holders(name, peers).includes(peer.account);
  const names = [...new Set(manifest.pieces)].filter(isHolder);
  if (names.length === 0 && !isHolder(manifest.actionId)) return;
  const answer = await neighbours.ask(peer, { case: 'missing', value: { names } }).catch(() => undefined);
  if (!answer) return;
  for (const hash of answer.names) await give.piece(peer, hash);
  await give.manifest(peer, manifest);
}
