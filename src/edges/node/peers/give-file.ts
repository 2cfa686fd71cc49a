import type { Manifest } from '../storage/manifest.ts';
import type { Peer } from './directory.ts';
import type { Giving } from './giving.ts';

/** Peers in the order in which a file is sent to them; others may join while it is being sent. */
export type PeerQueue = Readonly<{
  add: (...peers: readonly Peer[]) => void;
  take: () => Peer | undefined;
  /** Those that were taken. */
  taken: ReadonlySet<Peer>;
  /** Settles when the next peer joins. */
  joined: () => Promise<undefined>;
}>;

/** An empty queue. */
export function createPeerQueue(): PeerQueue {
  const left: Peer[] = [];
  const taken = new Set<Peer>();
  let joining = Promise.withResolvers<undefined>();
  return {
    add: (...peers) => {
      left.push(...peers);
      joining.resolve(undefined);
      joining = Promise.withResolvers();
    },
    take: () => {
      const peer = left.shift();
      if (peer) taken.add(peer);
      return peer;
    },
    taken,
    joined: async () => await joining.promise,
  };
}

/** A file, and how many more nodes are to have it. */
export type FileToGive = Readonly<{
  manifest: Manifest;
  giving: Giving;
  wanted: number;
  /** Receives those that were slow while others were faster. */
  onOvertaken: (peer: Peer) => void;
}>;

/** So many more than wanted have the file sent at once. */
const mostBeside = 2;

/**
 * Sends a file to so many nodes in their order, and returns how many accepted all of it: one that fails is followed by
 * the next, and one that is slow has the next beside it. The first ones that have it suffice.
 */
export async function giveFile(
  peers: Pick<PeerQueue, 'take' | 'joined'>,
  { manifest, giving, wanted, onOvertaken }: FileToGive,
): Promise<number> {
  const ending = new AbortController();
  const running = new Map<Peer, Promise<Readonly<{ peer: Peer; isAccepted: boolean }>>>();
  const slow = new Set<Peer>();
  let wake = Promise.withResolvers<undefined>();
  const give = async (peer: Peer): Promise<Readonly<{ peer: Peer; isAccepted: boolean }>> => {
    const onSlow = (): void => {
      slow.add(peer);
      wake.resolve(undefined);
    };
    const options = { onSlow, signal: ending.signal };
    const isAccepted =
      (await giving.manifest(peer, manifest, options)) && (await giving.pieces(peer, manifest.pieces, options));
    return { peer, isAccepted };
  };
  let accepted = 0;
  while (accepted < wanted) {
    wake = Promise.withResolvers();
    while (accepted + running.size - Math.min(slow.size, mostBeside) < wanted) {
      const peer = peers.take();
      if (!peer) break;
      running.set(peer, give(peer));
    }
    if (running.size === 0) break;
    const ended = await Promise.race([wake.promise, peers.joined(), ...running.values()]);
    if (!ended) continue;
    running.delete(ended.peer);
    slow.delete(ended.peer);
    if (ended.isAccepted) accepted += 1;
  }
  ending.abort();
  for (const peer of running.keys()) onOvertaken(peer);
  return accepted;
}
