import type { Peer } from './directory.ts';

/** A peer that misbehaved, and how often within the hour. */
export type Ban = Readonly<{ peer: Peer; count: number; createdAtMs: number }>;

/** Counts how peers misbehave; what is an hour old is forgotten. */
export type Bans = Readonly<{
  count: (peer: Peer) => void;
  isBanned: (account: string) => boolean;
  /** Peers that are banned, for the status. */
  all: () => readonly Ban[];
}>;

const bannedFrom = 2;
const lastsMs = 3_600_000;

/** No peer is banned at first; the clock gives unix milliseconds. */
export function createBans(now: () => number = () => Date.now()): Bans {
  const bans = new Map<string, Ban>();
  const current = (account: string): Ban | undefined => {
    const ban = bans.get(account);
    if (!ban || now() - ban.createdAtMs < lastsMs) return ban;
    bans.delete(account);
    return undefined;
  };
  const isBanned = (account: string): boolean => (current(account)?.count ?? 0) >= bannedFrom;
  return {
    isBanned,
    count: (peer) => {
      const before = current(peer.account);
      bans.set(peer.account, { peer, count: (before?.count ?? 0) + 1, createdAtMs: now() });
    },
    all: () => [...bans.values()].filter(({ peer }) => isBanned(peer.account)),
  };
}
