import pLimit from 'p-limit';
import { poll } from '../../../kit/repeat.ts';
import type { Bans } from './bans.ts';
import type { Directory, Peer } from './directory.ts';
import type { Diagnostics } from '../status/diagnostics.ts';
import type { PeerRequest, PeerHost } from './host.ts';

/** The purpose of a query of neighbours: a file that a client waits for, or copies that are missing. */
export type Why = 'transfer' | 'repair';

/** The other nodes of the chain's list, as one node finds them. */
export type Neighbours = Readonly<{
  /** Those that are active and not banned. */
  all: (why: Why) => Promise<readonly Peer[]>;
  /** How many are active, banned ones too. */
  listed: () => Promise<number>;
  /** Those of some that answer now, in their order. */
  reachable: (peers: readonly Peer[], options?: Reaching) => Promise<readonly Peer[]>;
  /** Contacts again those that have not answered for a while. */
  keepInTouch: () => Promise<void>;
  /** Fails with `UNAVAILABLE` where the peer does not answer. */
  ask: PeerHost['ask'];
  /** Sends a request to do something; returns false where the peer did not, for whatever reason. */
  isDone: (peer: Peer, ask: PeerRequest) => Promise<boolean>;
  /** Returns whether a node has been out of reach for so long that others replace it. */
  isGone: (peer: Peer) => boolean;
  /** Something that is another one after each start of a peer; undefined before it has answered. */
  startOf: (account: string) => string | undefined;
}>;

/** The slow ones are left out as soon as there are `enough` others, and in any case after `withinMs`. */
export type Reaching = Readonly<{
  enough?: number;
  withinMs?: number | undefined;
  /** Receives those that answer after that. */
  onLate?: (peer: Peer) => void;
}>;

/** Whose neighbours they are, and when one of them is gone. */
export type NeighbourOptions = Readonly<{
  account: string;
  host: PeerHost;
  directory: Directory;
  bans: Bans;
  diagnostics: Pick<Diagnostics, 'hotPath'>;
  repairAfterMs: number;
}>;

const ping: PeerRequest = { case: 'missing', value: { names: [] } };
const pingsAtOnce = 16;
/** Where enough have answered, the others have as long again, and so long at least and at most. */
const othersMs = { least: 200, most: 500 };
const pollMs = 20;
/** A node is contacted so often, in vain, before it counts as gone: a time in which nobody asked it says nothing. */
const timesBeforeGone = 3;

/** Remembers when each of the other nodes last answered. */
export function createNeighbours(options: NeighbourOptions): Neighbours {
  const { account, host, directory, bans, diagnostics, repairAfterMs } = options;
  const startedAtMs = performance.now();
  const answeredAtMs = new Map<string, number>();
  const missed = new Map<string, number>();
  const starts = new Map<string, string>();
  const limit = pLimit(pingsAtOnce);
  const isGone = (peer: Peer): boolean =>
    (missed.get(peer.account) ?? 0) >= timesBeforeGone &&
    performance.now() - (answeredAtMs.get(peer.account) ?? startedAtMs) >= repairAfterMs;
  const isDue = ({ account: peer }: Peer): boolean =>
    performance.now() - (answeredAtMs.get(peer) ?? -Infinity) >= repairAfterMs / timesBeforeGone;
  const active = async (): Promise<readonly Peer[]> =>
    (await directory.nodes()).filter((node) => node.isActive && node.account !== account);
  const all: Neighbours['all'] = async (why) => {
    const others = await active();
    const allowed = others.filter((node) => !bans.isBanned(node.account));
    if (why === 'transfer') diagnostics.hotPath.add('bannedSkips', others.length - allowed.length);
    return allowed;
  };
  const requestPeer: Neighbours['ask'] = async (peer, question) => {
    const answer = await host.ask(peer, question);
    answeredAtMs.set(peer.account, performance.now());
    missed.delete(peer.account);
    if (answer.credentials) starts.set(peer.account, Buffer.from(answer.credentials.signature).toString('base64'));
    return answer;
  };
  return {
    all,
    listed: async () => (await active()).length,
    ask: requestPeer,
    isGone,
    startOf: (peer) => starts.get(peer),
    reachable: async (peers, reaching) =>
      await answering(peers, async (peer) => await limit(() => requestPeer(peer, ping)), reaching),
    keepInTouch: async () => {
      const due = (await all('repair')).filter(isDue);
      const miss = ({ account: silent }: Peer): unknown => missed.set(silent, (missed.get(silent) ?? 0) + 1);
      await Promise.all(due.map((peer) => limit(() => requestPeer(peer, ping)).catch(() => miss(peer))));
    },
    isDone: async (peer, question) =>
      await requestPeer(peer, question).then(
        ({ done }) => done,
        () => false,
      ),
  };
}

async function answering(
  peers: readonly Peer[],
  request: (peer: Peer) => Promise<unknown>,
  { enough = Infinity, withinMs = Infinity, onLate }: Reaching = {},
): Promise<readonly Peer[]> {
  const answered = new Set<Peer>();
  const ending = new AbortController();
  const startMs = performance.now();
  let untilMs = startMs + withinMs;
  const note = (peer: Peer): void => {
    if (ending.signal.aborted) return onLate?.(peer);
    answered.add(peer);
    const othersHaveMs = Math.min(Math.max(performance.now() - startMs, othersMs.least), othersMs.most);
    // One that is silent delays nobody where others answer.
    if (answered.size === enough) untilMs = Math.min(untilMs, performance.now() + othersHaveMs);
  };
  const requested = peers.map(async (peer) => {
    const isThere = await request(peer).then(
      () => true,
      () => false,
    );
    if (isThere) note(peer);
  });
  const isOver = (): true | undefined => performance.now() >= untilMs || undefined;
  await Promise.race([Promise.all(requested), poll(isOver, { everyMs: pollMs, signal: ending.signal })]);
  ending.abort();
  return peers.filter((peer) => answered.has(peer));
}
