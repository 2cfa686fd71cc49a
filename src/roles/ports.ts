import { createServer } from 'node:net';
import { AppError } from '../kit/errors.ts';
import type { Config } from '../config.ts';
import { configuredRoles } from './all.ts';
import type { PlannedPort } from './role.ts';

/**
 * Ports that a start opens: those of the embedded servers, of the configured roles, and of operations, which every
 * process answers.
 */
export async function plannedPorts(config: Config): Promise<PlannedPort[]> {
  const { host } = config;
  const roles = await configuredRoles(config);
  const opened = (needed: boolean, setting: string, port: number | undefined): PlannedPort[] =>
    needed && port !== undefined ? [{ setting, host, port }] : [];
  const isShown = config.roles.includes('indexer');
  return [
    ...opened(!isShown, 'PORT', config.port),
    ...opened(config.natsUrl === undefined, 'NATS_PORT', config.natsPort),
    ...opened(config.natsUrl === undefined, 'NATS_WS_PORT', config.natsWsPort),
    ...opened(config.dbDsn === undefined, 'PG_PORT', config.pgPort),
    ...(config.adminPort === undefined
      ? []
      : [{ setting: 'ADMIN_PORT', host: config.adminHost, port: config.adminPort }]),
    ...roles.flatMap((role) => role.ports(config)),
  ];
}

/** Fails with `UNAVAILABLE` and names every setting whose port is in use, before anything is started. */
export async function assertPortsFree(ports: readonly PlannedPort[]): Promise<void> {
  const accepted = (await Promise.all(ports.map(async (port) => ((await isFree(port)) ? [] : [port])))).flat();
  if (accepted.length === 0) return;
  const list = accepted.map(({ setting, host, port }) => `${setting}=${port} on ${host}`).join(', ');
  throw new AppError(
    'UNAVAILABLE',
    `Cannot start: taken already: ${list}. Stop what uses the port, or set ${accepted.map(({ setting }) => setting).join(', ')} to a free one (0 picks one)`,
  );
}

async function isFree({ host, port }: PlannedPort): Promise<boolean> {
  if (port === 0) return true;
  const server = createServer();
  const { promise, resolve } = Promise.withResolvers<boolean>();
  server.once('error', () => resolve(false));
  server.listen(port, host, () => server.close(() => resolve(true)));
  return await promise;
}
