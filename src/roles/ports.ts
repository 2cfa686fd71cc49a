import { createServer } from 'node:net';
import { AppError } from '../kit/errors.ts';
import type { Config } from '../config.ts';
import type { RoleName } from '../role-names.ts';

/** A port that is about to be opened, and the setting that names it. */
type PlannedPort = Readonly<{ setting: string; host: string; port: number }>;

const none = (): Readonly<Record<string, number>> => ({});

/**
 * The ports that each role opens, by the setting that names them; a role without an entry does not compile.
 *
 * Known before the modules of the roles are loaded, which takes as long as the servers' start, and happens beside it.
 */
const portsOf: Readonly<Record<RoleName, (config: Config) => Readonly<Record<string, number>>>> = {
  ledger: ({ isLocal, lcdPort, rpcPort }) => (isLocal ? { LCD_PORT: lcdPort, RPC_PORT: rpcPort } : {}),
  projector: none,
  auditor: none,
  evm: ({ isLocal, evmHttpPort, evmWsPort }) => (isLocal ? { EVM_HTTP_PORT: evmHttpPort, EVM_WS_PORT: evmWsPort } : {}),
  node: ({ isLocal, grpcPort, nodeHttpPort, p2pPort }) =>
    isLocal ? {} : { GRPC_PORT: grpcPort, NODE_HTTP_PORT: nodeHttpPort, P2P_PORT: p2pPort },
  gateway: ({ gatewayPort }) => ({ GATEWAY_PORT: gatewayPort }),
  indexer: ({ port }) => ({ PORT: port }),
};

/**
 * Ports that a start opens: those of the embedded servers, of the configured roles, and of operations, which every
 * process answers.
 */
export function plannedPorts(config: Config): PlannedPort[] {
  const { host } = config;
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
    ...config.roles.flatMap((role) =>
      Object.entries(portsOf[role](config)).map(([setting, port]) => ({ setting, host, port })),
    ),
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
