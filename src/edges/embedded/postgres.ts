import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { Say } from './commands.ts';
import { startDaemon, type Daemon } from './daemon.ts';
import { postgresBinaries } from './postgres-binaries.ts';
import { makeFolder, openCluster, type Cluster } from './postgres-cluster.ts';
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

/** `pgPort` opens 127.0.0.1 for others, with `password`; without it there is only a private Unix socket. */
export type PostgresOptions = Readonly<{
  dir: string;
  ephemeral?: boolean;
  pgPort?: number | undefined;
  password?: string | undefined;
  say: Say;
  signal?: AbortSignal;
}>;

/** Names the socket file; no port of this number is opened. */
const SOCKET_NUMBER = 5432;
const DATABASE = 'annals';
const READY_WITHIN_MS = 60_000;

const LEAN = {
  shared_buffers: '64MB',
  max_connections: '60',
  jit: 'off',
  io_method: 'sync',
  max_wal_size: '512MB',
  log_min_messages: 'warning',
  log_checkpoints: 'off',
};
const FORGETFUL = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' };

/**
 * Starts PostgreSQL on the cluster in `dir`, making it on first use, and returns once it answers.
 *
 * May be called again on the same folder after a crash of the server or of its owner. `ephemeral` (for tests) trades
 * durability for speed and removes `dir` at the end.
 */
export async function startPostgres(options: PostgresOptions): Promise<EmbeddedPostgres> {
  const { dir, ephemeral = false, say } = options;
  await mkdir(dir, { recursive: true, mode: 0o711 });
  const bin = await postgresBinaries();
  const started = performance.now();
  const cluster = await openCluster(bin, dir, ephemeral);
  if (!ephemeral && performance.now() - started > 2000) say('made the PostgreSQL cluster');
  const sockets = socketPath(path.join(dir, 's'));
  await makeFolder(sockets, cluster.identity);
  await rm(path.join(sockets, `.s.PGSQL.${SOCKET_NUMBER}.lock`), { force: true });

  const daemon = launch(bin, cluster, sockets, options);
  const config = { host: sockets, port: options.pgPort ?? SOCKET_NUMBER, user: 'postgres', database: DATABASE };
  try {
    const version = await untilReady(daemon, config, options.signal);
    return { config, version, pid: daemon.pid, exited: daemon.exited, stop: () => daemon.stop() };
  } catch (error) {
    await daemon.stop();
    throw error;
  }
}

function launch(bin: string, { folder, identity }: Cluster, sockets: string, options: PostgresOptions): Daemon {
  const settings = {
    ...LEAN,
    ...(options.ephemeral ? FORGETFUL : {}),
    unix_socket_directories: sockets,
    unix_socket_permissions: '0700',
    listen_addresses: '',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const [command = '', ...args] = [
    ...identity.wrap,
    path.join(bin, 'postgres'),
    '-D',
    folder,
    '-p',
    String(SOCKET_NUMBER),
    ...flags,
  ];
  return startDaemon({
    command,
    args,
    logFile: path.join(options.dir, 'postgres.log'),
    stopSignal: 'SIGINT',
    uid: identity.uid,
    gid: identity.gid,
    removeAfterwards: options.ephemeral ? options.dir : undefined,
  });
}

async function untilReady(daemon: Daemon, config: pg.ClientConfig, signal?: AbortSignal): Promise<string> {
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await prepareDatabase(config);
    } catch (error) {
      if (daemon.hasExited()) throw new Error(`PostgreSQL ${await daemon.exited}`, { cause: error });
      if (performance.now() > deadline) throw new Error('PostgreSQL did not become ready', { cause: error });
      await pause(25);
    }
  }
}

/** Connects, makes the database when it is missing, and returns the server's version. */
async function prepareDatabase(config: pg.ClientConfig): Promise<string> {
  const client = new pg.Client({ ...config, database: 'postgres' });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ version: string; made: boolean }>(
      `select current_setting('server_version') as version, exists (select from pg_database where datname = $1) as made`,
      [config.database],
    );
    if (!rows[0]?.made) await client.query(`create database ${DATABASE}`);
    return rows[0]?.version ?? 'unknown';
  } finally {
    await client.end().catch(() => undefined);
  }
}
