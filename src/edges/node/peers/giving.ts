import pLimit from 'p-limit';
import { encodeManifest, type Manifest } from '../storage/manifest.ts';
import type { PieceHash } from '../storage/piece-hash.ts';
import type { Storage } from '../storage/storage.ts';
import type { Diagnostics } from '../status/diagnostics.ts';
import type { Peer } from './directory.ts';
import type { Neighbours } from './neighbours.ts';

/** One pass of sending pieces to others, with its counts. */
export type Giving = Readonly<{
  manifest: (peer: Peer, manifest: Manifest) => Promise<boolean>;
  /** Reads each piece once and sends it to some peers; returns those that accepted every one. */
  pieces: (peers: readonly Peer[], hashes: readonly PieceHash[]) => Promise<readonly Peer[]>;
  /** Records the pass, if it sent any request. */
  end: (diagnostics: Pick<Diagnostics, 'stores'>) => void;
}>;

const piecesAtOnce = 4;

/** Starts a pass. */
export function createGiving(neighbours: Pick<Neighbours, 'isDone'>, { pieces }: Pick<Storage, 'pieces'>): Giving {
  const pass = { requests: 0, successful: 0 };
  const isDone: Neighbours['isDone'] = async (peer, query) => {
    pass.requests += 1;
    const done = await neighbours.isDone(peer, query);
    if (done) pass.successful += 1;
    return done;
  };
  return {
    manifest: async (peer, manifest) => await isDone(peer, { case: 'putManifest', value: encodeManifest(manifest) }),
    pieces: async (peers, hashes) => {
      const takers = new Set(peers);
      await pLimit(piecesAtOnce).map(new Set(hashes), async (hash) => {
        if (takers.size === 0) return;
        // A piece that cannot be read here fails its own file alone.
        const value = await pieces.get(hash).catch(() => undefined);
        if (value === undefined) return takers.clear();
        const give = async (peer: Peer): Promise<void> => {
          if (!(await isDone(peer, { case: 'putPiece', value }))) takers.delete(peer);
        };
        await Promise.all([...takers].map(give));
      });
      return [...takers];
    },
    end: ({ stores }) => {
      if (pass.requests === 0) return;
      const timeUnix = BigInt(Math.floor(Date.now() / 1000));
      stores.add({ timeUnix, ...pass, successRate: (100 * pass.successful) / pass.requests });
    },
  };
}
