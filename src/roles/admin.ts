import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { type AdminOptions, createAdmin } from '../edges/admin/admin.ts';
import { tokenHolder } from '../edges/admin/guard.ts';
import { ownerOf } from '../edges/admin/operators.ts';
import { openPrivateSocket } from '../edges/admin/private-socket.ts';
import { actsOf } from './admin-acts.ts';
import { operationsOf } from './admin-operations.ts';
import { stateOf } from './admin-state.ts';
import { hooksFor } from './hooks.ts';
import type { Context } from './context.ts';
import type { Part, RoleContext } from './role.ts';
import { failureOf, serve } from './serve.ts';

/** Name of the socket in the folder of a network's data. */
const socketName = 'admin.sock';

/**
 * The administration of this instance on a socket of its owner, `DATA_DIR/<network>/admin.sock`, and on `ADMIN_PORT`
 * where one is set, for those who have a token.
 *
 * A process that shares the folder with one that runs already has no socket of its own, and says so.
 */
export async function startAdmin(context: RoleContext): Promise<Part> {
  const { config, folder, logger, version } = context;
  const operations = operationsOf(context);
  const { hooks, close } = hooksFor(context);
  const shared = {
    ...stateOf(context),
    acts: actsOf(context),
    hooks,
    operations,
    clock: () => Date.now(),
    logger,
    version,
  };
  const app = createAdmin({ ...shared, operatorOf: ownerOf });
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, socketName);
  const socket = await openPrivateSocket(file, (at) => app.listen({ path: at }));
  if (socket === undefined) logger.warn({ file }, 'another process of this folder answers the administration');
  const guarded = await openPort(config, shared);
  const failed = Promise.race([failureOf(app.server), ...(guarded?.failed ? [guarded.failed] : [])]);
  failed.catch(() => undefined);
  const stop = async (): Promise<void> => {
    await socket?.remove();
    await Promise.all([app.close(), guarded?.stop()]);
    await close();
    await operations.close();
  };
  const urls = { ...(socket && { admin: socket.path }), ...guarded?.urls };
  return { name: 'administration', urls, checks: [], gauges: [], failed, stop };
}

async function openPort(
  { adminPort: port, adminHost, adminTokens: tokens }: Context['config'],
  shared: Omit<AdminOptions, 'operatorOf' | 'tokens'>,
): Promise<Part | undefined> {
  if (port === undefined) return undefined;
  const app = createAdmin({ ...shared, operatorOf: tokenHolder(tokens), tokens });
  const urls = (base: string) => ({ administration: `${base}/admin/openapi.json` });
  return await serve('administration', app, { host: adminHost, port, urls });
}
