import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import { within } from '../../../kit/wait.ts';
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

/** Peers that lately accepted nothing in time: a file goes to the others first. */
export type SlowPeers = Readonly<{ add: (peer: Peer) => void; has: (peer: Peer) => boolean }>;

const piecesAtOnce = 4;
/** A client waits for a file: a peer that does not accept a piece of it in so long gives way to another. */
export const hastyMs = 5_000;
/** A manifest is small. */
const hastyManifestMs = 2_000;
const slowMs = 5 * 60_000;
const mostSlow = 10_000;

/** Remembers slow peers for five minutes. */
export function createSlowPeers(): SlowPeers {
  const accounts = new LRUCache<string, true>({ max: mostSlow, ttl: slowMs });
  return { add: ({ account }) => void accounts.set(account, true), has: ({ account }) => accounts.has(account) };
}

/**
 * Starts a pass.
 *
 * With `slow`, a peer that does not accept a message within a few seconds is added there and counts as one that
 * refuses; without it, a peer has the time of any request.
 */
export function createGiving(
  neighbours: Pick<Neighbours, 'isDone'>,
  { pieces }: Pick<Storage, 'pieces'>,
  slow?: SlowPeers,
): Giving {
  const pass = { requests: 0, successful: 0 };
  const isAccepted: Neighbours['isDone'] = async (peer, query) => {
    const accepted = neighbours.isDone(peer, query);
    if (!slow) return await accepted;
    const limitMs = query.case === 'putManifest' ? hastyManifestMs : hastyMs;
    return await within(limitMs, accepted, 'The peer accepts nothing in time').catch(() => {
      slow.add(peer);
      return false;
    });
  };
  const isDone: Neighbours['isDone'] = async (peer, query) => {
    pass.requests += 1;
    const done = await isAccepted(peer, query);
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
