import type { Bans } from './bans.ts';
import type { Directory, Peer } from './directory.ts';
import type { Diagnostics } from '../status/diagnostics.ts';
import type { Ask, PeerHost } from './host.ts';
import { ranked } from './rank.ts';

/** What they are looked up for: a file that somebody waits for, or copies that are missing. */
export type Why = 'transfer' | 'repair';

/** The other nodes of the chain's list, as one node finds them. */
export type Neighbours = Readonly<{
  /** Those that are active and not banned. */
  all: (why: Why) => Promise<readonly Peer[]>;
  /** Those of them that answer now. */
  reachable: (why: Why) => Promise<readonly Peer[]>;
  /** Fails with `UNAVAILABLE` where the peer does not answer. */
  ask: PeerHost['ask'];
  /** Asks for something to be done; false where it was not, for whatever reason. */
  isDone: (peer: Peer, ask: Ask) => Promise<boolean>;
  /** Accounts that should hold something, this node's among them: a node that is gone for too long is replaced. */
  holders: (name: string, peers: readonly Peer[]) => readonly string[];
}>;

/** Whose neighbours they are, how many hold a thing, and when one of them is gone. */
export type NeighbourOptions = Readonly<{
  account: string;
  host: PeerHost;
  directory: Directory;
  bans: Bans;
  diagnostics: Pick<Diagnostics, 'hotPath'>;
  copies: number;
  repairAfterMs: number;
}>;

/** Remembers when each of the other nodes last answered. */
export function createNeighbours(options: NeighbourOptions): Neighbours {
  const { account, host, directory, bans, diagnostics, copies, repairAfterMs } = options;
  const startedAtMs = performance.now();
  const answeredAtMs = new Map<string, number>();
  const isGone = (peer: Peer): boolean =>
    performance.now() - (answeredAtMs.get(peer.account) ?? startedAtMs) >= repairAfterMs;
  const all: Neighbours['all'] = async (why) => {
    const others = (await directory.nodes()).filter((node) => node.isActive && node.account !== account);
    const allowed = others.filter((node) => !bans.isBanned(node.account));
    if (why === 'transfer') diagnostics.hotPath.add('bannedSkips', others.length - allowed.length);
    return allowed;
  };
  const ask: Neighbours['ask'] = async (peer, question) => {
    const answer = await host.ask(peer, question);
    answeredAtMs.set(peer.account, performance.now());
    return answer;
  };
  return {
    all,
    ask,
    reachable: async (why) => {
      const peers = await all(why);
      const asked = await Promise.allSettled(peers.map((peer) => ask(peer, { case: 'missing', value: { names: [] } })));
      return peers.filter((_, index) => asked[index]?.status === 'fulfilled');
    },
    isDone: async (peer, question) =>
      await ask(peer, question).then(
        ({ done }) => done,
        () => false,
      ),
    holders: (name, peers) =>
      ranked(name, [{ account }, ...peers.filter((peer) => !isGone(peer))])
        .slice(0, copies)
        .map((node) => node.account),
  };
}
