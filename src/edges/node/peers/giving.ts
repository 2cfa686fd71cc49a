import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import { within } from '../../../kit/wait.ts';
import { encodeManifest, type Manifest } from '../storage/manifest.ts';
import type { PieceHash } from '../storage/piece-hash.ts';
import type { Storage } from '../storage/storage.ts';
import type { Diagnostics } from '../status/diagnostics.ts';
import type { Peer } from './directory.ts';
import type { Neighbours } from './neighbours.ts';
import type { GivingKind, PeerPace } from './peer-pace.ts';

/** What is done about one peer's part of a pass. */
export type GivingOptions = Readonly<{
  /** Called where a message is not accepted for longer than peers usually take; the wait continues. */
  onSlow?: () => void;
  /** After it no further piece is sent. */
  signal?: AbortSignal;
}>;

/** One pass of sending pieces to others, with its counts. */
export type Giving = Readonly<{
  manifest: (peer: Peer, manifest: Manifest, options?: GivingOptions) => Promise<boolean>;
  /** Returns whether the peer accepted every one; one that is sent to several peers at once is read once. */
  pieces: (peer: Peer, hashes: readonly PieceHash[], options?: GivingOptions) => Promise<boolean>;
  /** Records the pass, if it sent any request. */
  end: (diagnostics: Pick<Diagnostics, 'stores'>) => void;
}>;

/** Peers to which something has applied within the last five minutes. */
export type RecentPeers = Readonly<{ add: (peer: Peer) => void; has: (peer: Peer) => boolean }>;

/** A client waits for a file: how long peers may take, and those that took longer. */
export type Haste = Readonly<{
  pace: PeerPace;
  /** A peer that does not accept a message of the kind in so long counts as one that refuses. */
  limitsMs: Readonly<Record<GivingKind, number>>;
  /** Those peers: a file goes to the others first. */
  slow: RecentPeers;
}>;

const piecesAtOnce = 4;
const recentMs = 5 * 60_000;
const mostRecent = 10_000;

/** Remembers peers for five minutes. */
export function createRecentPeers(): RecentPeers {
  const accounts = new LRUCache<string, true>({ max: mostRecent, ttl: recentMs });
  return { add: ({ account }) => void accounts.set(account, true), has: ({ account }) => accounts.has(account) };
}

type GivingMessage = Readonly<{ case: 'putManifest'; value: Uint8Array } | { case: 'putPiece'; value: Uint8Array }>;

/** Starts a pass; without `haste`, a peer has the time of any request. Each piece is sent so many `tries`. */
export function createGiving(
  neighbours: Pick<Neighbours, 'isDone'>,
  { pieces }: Pick<Storage, 'pieces'>,
  { haste, tries: most = 1 }: Readonly<{ haste?: Haste | undefined; tries?: number }> = {},
): Giving {
  const pass = { requests: 0, successful: 0 };
  const read = createSharedReads(async (hash) => await pieces.get(hash));
  const isDone = async (peer: Peer, message: GivingMessage, { onSlow }: GivingOptions = {}): Promise<boolean> => {
    pass.requests += 1;
    const accepted = neighbours.isDone(peer, message);
    const done = await (haste ? hasty(accepted, { ...haste, peer, kind: message.case, onSlow }) : accepted);
    if (done) pass.successful += 1;
    return done;
  };
  return {
    manifest: async (peer, manifest, options) =>
      await isDone(peer, { case: 'putManifest', value: encodeManifest(manifest) }, options),
    pieces: async (peer, hashes, options) => {
      let isAccepted = true;
      await pLimit(piecesAtOnce).map(new Set(hashes), async (hash) => {
        if (!isAccepted || options?.signal?.aborted) return;
        const give = async (value: Buffer): Promise<boolean> =>
          await isDone(peer, { case: 'putPiece', value }, options);
        for (let tries = most; tries > 0; tries -= 1) if (await read(hash, give)) return;
        isAccepted = false;
      });
      return isAccepted && !options?.signal?.aborted;
    },
    end: ({ stores }) => {
      if (pass.requests === 0) return;
      const timeUnix = BigInt(Math.floor(Date.now() / 1000));
      stores.add({ timeUnix, ...pass, successRate: (100 * pass.successful) / pass.requests });
    },
  };
}

type Hasty = Haste & Readonly<{ peer: Peer; kind: GivingKind; onSlow?: (() => void) | undefined }>;

async function hasty(accepted: Promise<boolean>, options: Hasty): Promise<boolean> {
  const { pace, limitsMs, slow, peer, kind, onSlow } = options;
  const startedAtMs = performance.now();
  const timer = onSlow && setTimeout(onSlow, pace.patienceMs(kind));
  try {
    const done = await within(limitsMs[kind], accepted, 'The peer accepts nothing in time');
    if (done) pace.record(kind, performance.now() - startedAtMs);
    return done;
  } catch {
    slow.add(peer);
    return false;
  } finally {
    clearTimeout(timer);
  }
}

type SharedRead = { readonly bytes: Promise<Buffer | undefined>; users: number };

/** Reads of pieces: whoever uses a piece while another does has the same bytes, and they stay no longer than that. */
function createSharedReads(get: (hash: PieceHash) => Promise<Buffer | undefined>) {
  const reads = new Map<PieceHash, SharedRead>();
  return async (hash: PieceHash, use: (bytes: Buffer) => Promise<boolean>): Promise<boolean> => {
    // A piece that cannot be read here fails its own file alone.
    const shared = reads.get(hash) ?? { bytes: get(hash).catch(() => undefined), users: 0 };
    reads.set(hash, shared);
    shared.users += 1;
    try {
      const bytes = await shared.bytes;
      return bytes !== undefined && (await use(bytes));
    } finally {
      shared.users -= 1;
      if (shared.users === 0) reads.delete(hash);
    }
  };
}
