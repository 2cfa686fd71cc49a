import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { createAdmin } from '../edges/admin/admin.ts';
import { openPrivateSocket } from '../edges/admin/private-socket.ts';
import { archiveStateOf } from '../engine/archive/observed.ts';
import { createCheckpoints } from '../engine/archive/proof/checkpoints.ts';
import { metaSchema } from '../engine/models/engine/generations.ts';
import { throughPool } from '../engine/models/pool.ts';
import { toAppError } from '../kit/errors.ts';
import { rounds } from '../projections/rounds/rounds.ts';
import { actsOf } from './admin-acts.ts';
import type { Context } from './context.ts';
import type { Part } from './role.ts';

/** Name of the socket in the folder of a network's data. */
const socketName = 'admin.sock';

/**
 * The administration of this instance on a socket of its owner, `DATA_DIR/<network>/admin.sock`.
 *
 * A process that shares the folder with one that runs already has none of its own, and says so.
 */
export async function startAdmin(context: Context): Promise<Part> {
  const { network, broker, pools, reader, lag, folder, logger, version } = context;
  const checkpoints = createCheckpoints(throughPool(pools.archive), metaSchema(network));
  const app = createAdmin({
    generations: reader.generations,
    heads: broker.heads,
    lag,
    rounds: () => reader.read(rounds),
    archive: archiveStateOf(pools, network),
    logs: async () => {
      const [last, refusals] = await Promise.all([checkpoints.last(), checkpoints.refusals()]);
      return { checkpoints: last, refusals };
    },
    leases: broker.leases,
    acts: actsOf(context),
    clock: () => Date.now(),
    logger,
    version,
  });
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, socketName);
  const socket = await openPrivateSocket(file, (at) => app.listen({ path: at }));
  if (socket === undefined) logger.warn({ file }, 'another process of this folder answers the administration');
  const failed = once(app.server, 'error').then(([error]: unknown[]) => Promise.reject(toAppError(error)));
  failed.catch(() => undefined);
  const stop = async (): Promise<void> => {
    await socket?.remove();
    await app.close();
  };
  return { name: 'administration', urls: socket ? { admin: socket.path } : {}, checks: [], gauges: [], failed, stop };
}
