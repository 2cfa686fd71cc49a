import { streamTable } from '../events/streams.ts';
import { bothStoresOf } from '../engine/archive/archive.ts';
import { runAuditor } from '../engine/archive/auditor.ts';
import { rebuildingInWorker } from '../engine/models/build/rebuild-in-worker.ts';
import { looping, type Role, type RoleContext } from './role.ts';

/**
 * Compares the log with its archive and every read model with the log, and repairs what may be repaired without an
 * operator.
 *
 * Watches with connections of this process, and compares in threads with connections of their own.
 */
export const auditor = {
  name: 'auditor',
  async *start(context) {
    yield looping('auditor', undefined, (signal) => audit(context, signal));
  },
} as const satisfies Role;

async function audit(context: RoleContext, signal: AbortSignal): Promise<void> {
  const { config, nats, postgres, folder, broker, pools, network, logger: log } = context;
  const { connection, leases, log: source } = broker;
  const { scrubIntervalMs, scrubPerSecond } = config;
  await runAuditor({
    ...bothStoresOf(connection, { network, pools }),
    access: { nats, postgres, network, policies: streamTable, folder },
    rebuild: rebuildingInWorker({ nats, postgres, network, pools, source }),
    leases,
    log,
    scrubIntervalMs,
    scrubPerSecond,
    signal,
  });
}
