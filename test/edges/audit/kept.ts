import { onTestFinished } from 'vitest';
import type { StreamName, StreamPolicies } from '../../../src/events/streams.ts';
import { type BothStores, bothStoresOf } from '../../../src/edges/audit/archiver.ts';
import { keepArchive } from '../../../src/edges/audit/keeper.ts';
import { createLeases } from '../../../src/edges/log/leases.ts';
import type { Log } from '../../../src/edges/log/log.ts';
import { migrate } from '../../../src/edges/models/migrate.ts';
import { until } from '../../support/polling.ts';
import { freshLog } from '../log/fresh-log.ts';
import { databaseOf, silent } from '../models/engine.ts';
import { freshDatabase } from '../../support/servers.ts';

/** Both stores of a network of its own, and what is said with them. */
export type Kept = BothStores & Readonly<{ log: Log; source: Log; start: () => { stop: () => Promise<void> } }>;

type Keeping = Readonly<{
  scrubIntervalMs?: number;
  policies?: StreamPolicies;
  /** A broker of its own, and where the folders of its streams lie. */
  own?: Awaited<ReturnType<typeof freshLog>> & Readonly<{ streamFiles: string }>;
}>;

/** Opens a log and an archive beside it; `start` keeps the archive until it is stopped. */
export async function keptLog({ scrubIntervalMs = 3_600_000, own, policies }: Keeping = {}): Promise<Kept> {
  const { nc, network, log } = own ?? (await freshLog(policies ? { policies } : {}));
  const { pools } = databaseOf(await freshDatabase(), network);
  await migrate({ pools, network });
  const stores = bothStoresOf(nc, { network, pools, ...(policies ? { policies } : {}) });
  const leases = createLeases(nc, network, { ttlMs: 1000 });
  const start = () => {
    const ending = new AbortController();
    const files = { streamFiles: own?.streamFiles };
    const options = { ...stores, ...files, leases, source: log, log: silent, scrubIntervalMs, scrubPerSecond: 100_000 };
    const running = keepArchive({ ...options, signal: ending.signal });
    const stop = async (): Promise<void> => {
      ending.abort();
      await running;
    };
    onTestFinished(stop);
    return { stop };
  };
  return { ...stores, log, source: log, start };
}

/** Waits until the archive holds all that a stream holds now. */
export async function untilArchived({ store, log }: Kept, stream: StreamName): Promise<void> {
  const { lastSequence } = await log.head(stream);
  await until(`${stream} is archived`, async () => ((await store.head(stream))?.position ?? 0) >= lastSequence, 15_000);
}
