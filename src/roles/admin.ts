import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { createAdmin } from '../edges/admin/admin.ts';
import { ownerOf } from '../edges/admin/operators.ts';
import { openPrivateSocket } from '../edges/admin/private-socket.ts';
import { toAppError } from '../kit/errors.ts';
import { actsOf } from './admin-acts.ts';
import { operationsOf } from './admin-operations.ts';
import { stateOf } from './admin-state.ts';
import { hooksFor } from './hooks.ts';
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
  const { folder, logger, version } = context;
  const operations = operationsOf(context);
  const { hooks, close } = hooksFor(context);
  const app = createAdmin({
    ...stateOf(context),
    acts: actsOf(context),
    hooks,
    operations,
    operatorOf: ownerOf,
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
    await close();
    await operations.close();
  };
  return { name: 'administration', urls: socket ? { admin: socket.path } : {}, checks: [], gauges: [], failed, stop };
}
