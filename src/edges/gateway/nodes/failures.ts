import { LRUCache } from 'lru-cache';

/** The SuperNodes that failed lately, whatever probes report: those come later. */
export type Failures = Readonly<{
  failed: (account: string) => void;
  succeeded: (account: string) => void;
  has: (account: string) => boolean;
}>;

const rememberedMs = 5 * 60_000;
const mostAccounts = 10_000;

/** Remembers failures of nodes for five minutes, or until one succeeds. */
export function createFailures(): Failures {
  const failed = new LRUCache<string, true>({ max: mostAccounts, ttl: rememberedMs });
  return {
    failed: (account) => void failed.set(account, true),
    succeeded: (account) => void failed.delete(account),
    has: (account) => failed.has(account),
  };
}
