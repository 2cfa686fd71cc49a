import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { Say } from './commands.ts';
import { startDaemon, type Daemon } from './daemon.ts';
import { postgresBinaries } from './postgres-binaries.ts';
import { makeFolder, openCluster, writeAccess, type Cluster } from './postgres-cluster.ts';
import { endPredecessor, rememberServer } from './predecessor.ts';
import { socketPath } from './socket-path.ts';

/** A PostgreSQL server of our own; `config` connects to its database `annals`. */
export type EmbeddedPostgres = Readonly<{
  config: pg.ClientConfig;
  version: string;
  pid: number;
  /** Resolves with the reason and the last log lines when the server has ended, asked or not. */
  exited: Promise<string>;
  stop(): Promise<void>;
}>;

/**
 * `pgPort` opens 127.0.0.1 for others, user `postgres` with `password`; without it there is only a private Unix socket.
 * `ephemeral` (for tests) trades durability for speed and removes `dir` at the end.
 */
export type PostgresOptions = Readonly<{
  dir: string;
  ephemeral?: boolean;
  pgPort?: number | undefined;
  password?: string | undefined;
  say: Say;
  signal?: AbortSignal;
}>;

/** What a start needs once the cluster is there. */
type Launch = Readonly<{
  options: PostgresOptions;
  dir: string;
  bin: string;
  cluster: Cluster;
  config: pg.ClientConfig;
}>;

const USER = 'postgres';
const DATABASE = 'annals';
/** Names the socket's file; no port of this number is opened. */
const SOCKET_NUMBER = 5432;
const READY_WITHIN_MS = 60_000;
/** How long processes of a killed server may take to notice. */
const LEFTOVERS_WITHIN_MS = 15_000;
const LEFTOVERS = /pre-existing shared memory block|lock file ".*" already exists/;

const LEAN = {
  shared_buffers: '64MB',
  max_connections: '60',
  jit: 'off',
  max_wal_size: '512MB',
  io_method: 'sync',
  log_min_messages: 'warning',
  log_checkpoints: 'off',
};
const FORGETFUL = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' };

/**
 * Starts PostgreSQL on the cluster in `dir`, making it on first use, and returns once it answers.
 *
 * May be called again on the same folder after a crash of the server or of its owner. The caller holds the folder's
 * lock (`lockDir`).
 */
export async function startPostgres(options: PostgresOptions): Promise<EmbeddedPostgres> {
  if (options.pgPort && !options.password)
    throw new Error('PG_PORT opens PostgreSQL to others: set POSTGRES_PASSWORD as well');
  const dir = path.resolve(options.dir);
  await mkdir(dir, { recursive: true, mode: 0o711 });
  const bin = await postgresBinaries();
  await endPredecessor(pidFileIn(dir), dir, 'SIGINT');
  const cluster = await openCluster(bin, dir, options.ephemeral ?? false);
  await writeAccess(cluster);
  const host = socketPath(path.join(dir, 's'));
  await makeFolder(host, cluster.identity);
  const config = { host, port: options.pgPort ?? SOCKET_NUMBER, user: USER, database: DATABASE };

  const daemon = await launchAfterLeftovers({ options, dir, bin, cluster, config });
  try {
    const version = await prepareDatabase(config, options);
    return { config, version, pid: daemon.pid, exited: daemon.exited, stop: daemon.stop };
  } catch (error) {
    await daemon.stop();
    throw error;
  }
}

/** Starts the server, again and again while processes of a killed predecessor still hold its memory. */
async function launchAfterLeftovers(launch: Launch): Promise<Daemon> {
  const deadline = performance.now() + LEFTOVERS_WITHIN_MS;
  for (;;) {
    const daemon = startServer(launch);
    try {
      await rememberServer(pidFileIn(launch.dir), daemon.pid);
      await untilReady(daemon, launch);
      return daemon;
    } catch (error) {
      const mayPass = daemon.hasExited() && LEFTOVERS.test(await daemon.exited) && performance.now() < deadline;
      if (!mayPass) {
        await daemon.stop();
        throw error;
      }
      await pause(200);
    }
  }
}

function startServer({ options, dir, bin, cluster: { folder, identity }, config }: Launch): Daemon {
  const settings = {
    ...LEAN,
    ...(options.ephemeral ? FORGETFUL : {}),
    port: config.port,
    listen_addresses: options.pgPort ? '127.0.0.1' : '',
    unix_socket_directories: JSON.stringify(config.host),
    unix_socket_permissions: '0700',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const [command = '', ...args] = [...identity.wrap, path.join(bin, 'postgres'), '-D', folder, ...flags];
  return startDaemon({
    command,
    args,
    logFile: path.join(dir, 'postgres.log'),
    stopSignal: 'SIGINT',
    uid: identity.uid,
    gid: identity.gid,
    removeAfterwards: options.ephemeral ? dir : undefined,
  });
}

async function untilReady(daemon: Daemon, { config, options: { signal } }: Launch): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await withClient(
        { ...config, database: 'postgres' },
        async (client) => void (await client.query('select 1')),
      );
    } catch (error) {
      if (daemon.hasExited()) throw new Error(`PostgreSQL ${await daemon.exited}`, { cause: error });
      if (performance.now() > deadline) throw new Error('PostgreSQL did not become ready', { cause: error });
      await pause(25);
    }
  }
}

/** Makes the database when it is missing, sets the password for TCP, and returns the server's version. */
function prepareDatabase(config: pg.ClientConfig, { pgPort, password = '' }: PostgresOptions): Promise<string> {
  return withClient({ ...config, database: 'postgres' }, async (client) => {
    const { rows } = await client.query<{ version: string; made: boolean }>(
      `select current_setting('server_version') as version, exists (select from pg_database where datname = $1) as made`,
      [DATABASE],
    );
    if (!rows[0]?.made) await client.query(`create database ${DATABASE}`);
    if (pgPort) await client.query(`alter role ${USER} password ${client.escapeLiteral(password)}`);
    return rows[0]?.version ?? 'unknown';
  });
}

async function withClient<T>(config: pg.ClientConfig, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(config);
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

const pidFileIn = (dir: string) => path.join(dir, 'postgres.pid');
