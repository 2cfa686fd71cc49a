import { projections } from '../projections/all.ts';
import { bothStoresOf, drainArchive, keepArchive } from '../engine/archive/archive.ts';
import { signingOf } from '../engine/archive/proof/open-signing.ts';
import { guardDatabase } from '../engine/archive/database.ts';
import { rebuildingInWorker } from '../engine/models/build/rebuild-in-worker.ts';
import { checkHandlers, runProjector } from '../engine/models/engine/projector.ts';
import { looping, type Part, type Role, type RoleContext } from './role.ts';

/**
 * Every projection and the archive, each run by one process at a time; fails when a projection was changed without a
 * new version.
 *
 * The process stops it after all writers, so that their last facts are archived before.
 */
export const projector = {
  name: 'projector',
  async *start(context) {
    yield await startProjector(context);
  },
} as const satisfies Role;

/** How long the end of the program waits for the archive to take what was written last. */
const drainedWithinMs = 3000;

async function startProjector(context: RoleContext): Promise<Part> {
  const { config, pools, broker, network, logger, nats, postgres, database: files } = context;
  const { log: source, leases } = broker;
  const { scrubIntervalMs } = config;
  const stores = bothStoresOf(broker.connection, { network, pools });
  const { onBatchRefused: onRefused } = context.leadership;
  await context.onSoundDatabase(() => checkHandlers({ pools, network, projections }));
  const part = looping('projector', undefined, async (signal) => {
    const rebuilding = rebuildingInWorker({ nats, postgres, network, pools, source });
    await Promise.all([
      guardDatabase({ pools, network, stores, files, log: logger, scrubIntervalMs, signal }),
      keepArchive({ ...stores, leases, log: logger, signal, signing: signingOf(stores, { config, log: logger }) }),
      runProjector({ pools, source, leases, projections, network, rebuilding, onRefused, log: logger, signal }),
    ]);
  });
  const stop = async (): Promise<void> => {
    const isComplete = await drainArchive(stores, drainedWithinMs).catch(() => false);
    if (!isComplete) logger.warn('the archive ends before the log does; it is brought forward at the next start');
    await part.stop();
  };
  return { ...part, stop };
}
