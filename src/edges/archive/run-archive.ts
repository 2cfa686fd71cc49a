import type { Context } from '../wiring.ts';
import { guardDatabase } from './database-guard.ts';
import { keepArchive } from './keeper.ts';
import { keepModels } from './keep-models.ts';
import { createArchiveStore } from './store.ts';

/** Keeps the archive of a network and watches the read models and the database that they lie in, until the signal ends it; never fails. */
export async function runArchive(context: Context, signal: AbortSignal): Promise<void> {
  const { config, broker, pools, network, logger: log, database: files } = context;
  const { connection: nc, log: source, leases } = broker;
  const { scrubIntervalMs, scrubPerSecond } = config;
  const common = { pools, network, log, scrubIntervalMs, signal };
  const store = createArchiveStore(pools, network);
  await Promise.all([
    guardDatabase({ ...common, files }),
    keepArchive({ ...common, nc, store, source, leases, scrubPerSecond }),
    keepModels({ ...common, nc, store, source, leases }),
  ]);
}
