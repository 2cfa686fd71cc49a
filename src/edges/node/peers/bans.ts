import type { Peer } from './directory.ts';

/** A peer that misbehaved, and how often within the hour. */
export type Ban = Readonly<{ peer: Peer; count: number; createdAtMs: number }>;

/** Counts how peers misbehave; what is an hour old is forgotten. */
export type Bans = Readonly<{
  count: (peer: Peer) => void;
  isBanned: (account: string) => boolean;
  /** Puts a ban of an earlier run in force again, for as long as it would have lasted. */
  restore: (account: string, ban: Readonly<{ count: number; since: string; address: string }>) => void;
  /** Peers that are banned, for the status. */
  all: () => readonly Ban[];
}>;

const bannedFrom = 2;
const lastsMs = 3_600_000;

/** No peer is banned at first; the clock returns unix milliseconds, `onCount` is called for every misbehaviour. */
export function createBans(now: () => number = () => Date.now(), onCount: () => void = () => undefined): Bans {
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
      onCount();
    },
    restore: (account, { count, since, address }) => {
      const at = address.lastIndexOf(':');
      const peer = { account, ip: address.slice(0, at), port: Number(address.slice(at + 1)), isActive: true };
      if (!bans.has(account)) bans.set(account, { peer, count, createdAtMs: Date.parse(since) });
    },
    all: () => [...bans.values()].filter(({ peer }) => isBanned(peer.account)),
  };
}
