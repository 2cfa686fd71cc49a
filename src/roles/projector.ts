import { projections } from '../projections/all.ts';
import { finishArchive, runArchive } from '../engine/archive/run-archive.ts';
import { rebuildingInWorker } from '../engine/models/build/rebuild-in-worker.ts';
import { checkHandlers, runProjector } from '../engine/models/engine/projector.ts';
import { looping, type Part, type Role, type RoleContext } from './role.ts';

/**
 * Every projection and the archive, each kept by one process at a time; fails when a projection was changed without a
 * new version.
 *
 * Ends only when it is stopped, after everybody who writes: what was written last is archived before.
 */
export const projector = {
  name: 'projector',
  ports: () => [],
  async *start(context) {
    yield await startProjector(context);
  },
} as const satisfies Role;

async function startProjector(context: RoleContext): Promise<Part> {
  const { pools, broker, network, logger, nats, postgres } = context;
  const { log: source, leases } = broker;
  const { onBatchRefused: onRefused } = context.leadership;
  await context.onSoundDatabase(() => checkHandlers({ pools, network, projections }));
  const part = looping('projector', undefined, async (ending) => {
    const archive = runArchive(context, ending);
    const rebuilding = rebuildingInWorker({ nats, postgres, network, pools, source });
    const hears = { onRefused, log: logger };
    await runProjector({ pools, source, leases, projections, network, rebuilding, ...hears, signal: ending });
    await archive;
  });
  const stop = async (): Promise<void> => {
    await finishArchive(context);
    await part.stop();
  };
  return { ...part, stop };
}
