import type { Context } from '../wiring.ts';
import { keepArchive } from './keeper.ts';
import { createArchiveStore } from './store.ts';

/** Keeps the archive of a network until the signal ends it; never fails. */
export async function runArchive(context: Context, signal: AbortSignal): Promise<void> {
  const { config, broker, pools, network, logger } = context;
  await keepArchive({
    nc: broker.connection,
    network,
    store: createArchiveStore(pools, network),
    source: broker.log,
    leases: broker.leases,
    log: logger,
    scrubIntervalMs: config.scrubIntervalMs,
    scrubPerSecond: config.scrubPerSecond,
    signal,
  });
}
