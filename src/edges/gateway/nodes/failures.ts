import { LRUCache } from 'lru-cache';

/** The SuperNodes that failed or were slow lately, whatever probes report: those come later. */
export type Failures = Readonly<{
  failed: (account: string) => void;
  /** Another node was faster: that is no failure, but it comes later as well. */
  overtaken: (account: string) => void;
  succeeded: (account: string) => void;
  has: (account: string) => boolean;
}>;

const rememberedMs = 5 * 60_000;
const mostAccounts = 10_000;

/** Remembers nodes for five minutes, or until one succeeds. */
export function createFailures(): Failures {
  const behind = new LRUCache<string, true>({ max: mostAccounts, ttl: rememberedMs });
  const failed = (account: string): void => void behind.set(account, true);
  return {
    failed,
    overtaken: failed,
    succeeded: (account) => void behind.delete(account),
    has: (account) => behind.has(account),
  };
}
