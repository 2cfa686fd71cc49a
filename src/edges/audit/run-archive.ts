import type { Context } from '../roles/context.ts';
import { guardDatabase } from './database-guard.ts';
import { drainArchive } from './drain.ts';
import { keepArchive } from './keeper.ts';
import { keepModels } from './keep-models.ts';
import { bothStoresOf } from './archiver.ts';
import { guardStreams } from './stream-guard.ts';

const drainedWithinMs = 3000;

/** Keeps the archive of a network and watches the read models and the database that they lie in, until the signal ends it; never fails. */
export async function runArchive(context: Context, signal: AbortSignal): Promise<void> {
  const { config, broker, pools, network, logger: log, database: files, streamFiles } = context;
  const { connection: nc, log: source, leases } = broker;
  const { scrubIntervalMs, scrubPerSecond } = config;
  const common = { pools, network, log, scrubIntervalMs, signal };
  const stores = bothStoresOf(nc, { network, pools });
  await Promise.all([
    guardDatabase({ ...common, files }),
    keepArchive({ ...common, ...stores, source, leases, scrubPerSecond, streamFiles }),
    guardStreams({ ...common, ...stores, folder: streamFiles }),
    keepModels({ ...common, ...stores, source, leases }),
  ]);
}

/** Before the archive ends in good order: gives it a moment to take what was written last. Never fails. */
export async function finishArchive({ broker, pools, network, logger }: Context): Promise<void> {
  const stores = bothStoresOf(broker.connection, { network, pools });
  const isWhole = await drainArchive(stores, drainedWithinMs).catch(() => false);
  if (!isWhole) logger.warn('the archive ends before the log does; it is brought forward at the next start');
}
