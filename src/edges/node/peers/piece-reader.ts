import { hashPiece, type PieceHash } from '../storage/piece-hash.ts';
import type { Storage } from '../storage/storage.ts';
import type { Diagnostics } from '../status/diagnostics.ts';
import type { Bans } from './bans.ts';
import type { Peer } from './directory.ts';
import type { PieceMatch } from './judge.ts';
import type { Neighbours } from './neighbours.ts';
import type { Placement } from './placement.ts';

/**
 * Reads pieces of one file, from here or from any node that has it; undefined where none does. A peer that sends other
 * bytes is counted. Only what this node should hold is stored, and a full store never withholds a piece from its
 * reader.
 */
export type PieceReader = (actionId: string) => (hash: PieceHash) => Promise<PieceMatch | undefined>;

/** The sources of pieces, and the node that reads them. */
export type ReaderOptions = Readonly<{
  account: string;
  neighbours: Neighbours;
  placement: Placement;
  storage: Storage;
  bans: Bans;
  diagnostics: Pick<Diagnostics, 'hotPath'>;
}>;

/** Makes readers of the pieces of one file; each reader ranks its nodes once. */
export function createPieceReaders(options: ReaderOptions): PieceReader {
  const { account, neighbours, placement, storage, bans, diagnostics } = options;
  const isOwn = async (actionId: string): Promise<boolean> => {
    if (!storage.index.file(actionId)) return false;
    return (await (await placement.holdersNow())(actionId)).includes(account);
  };
  /** Undefined where the peer has none, fails where it does not answer. */
  const pieceAt = async (peer: Peer, hash: PieceHash): Promise<Buffer | undefined> => {
    const answer = await neighbours.ask(peer, { case: 'getPiece', value: hash });
    if (!answer.done) return undefined;
    if (hashPiece(answer.data) === hash) return Buffer.from(answer.data);
    bans.count(peer);
    diagnostics.hotPath.add('banIncrements');
    return undefined;
  };
  return (actionId) => {
    const silent = new Set<Peer>();
    let candidates: ReturnType<typeof placement.candidates> | undefined;
    let stores: Promise<boolean> | undefined;
    let lastGiver: Peer | undefined;
    const elsewhere = async (hash: PieceHash): Promise<Buffer | undefined> => {
      const { group, rest } = await (candidates ??= placement.candidates(actionId, 'transfer'));
      for (const peers of [() => (lastGiver ? [lastGiver] : []), () => group, rest])
        for (const peer of peers()) {
          if (silent.has(peer) || bans.isBanned(peer.account)) continue;
          const bytes = await pieceAt(peer, hash).catch(() => void silent.add(peer));
          if (!bytes) continue;
          lastGiver = peer;
          return bytes;
        }
      return undefined;
    };
    return async (hash) => {
      // A disk that cannot be read does not withhold a piece that others have.
      const own = await storage.pieces.get(hash).catch(() => undefined);
      if (own) return { bytes: own, from: 'here' };
      const bytes = await elsewhere(hash);
      if (!bytes) return undefined;
      stores ??= isOwn(actionId).catch(() => false);
      // Where there is no room, the piece is returned all the same; a later repair fetches it again.
      if (await stores) await storage.pieces.put(bytes, hash).catch(() => undefined);
      return { bytes, from: 'elsewhere' };
    };
  };
}
