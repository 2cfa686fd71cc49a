import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type pg from 'pg';
import { type Report, whileSaying } from '../commands.ts';
import { postgresBinaries } from './postgres-binaries.ts';
import { makeFolder, openCluster, setClusterAside, writeAccess } from './postgres-cluster.ts';
import { DATABASE, prepareDatabase, SOCKET_NUMBER, USER } from './postgres-database.ts';
import { DamagedCluster, endLeftPostgres, isRefusal, launchPostgres, notWell } from './postgres-launch.ts';
import { socketPath } from '../lock.ts';
import { removeStaleLocks } from './stale-locks.ts';

/** A PostgreSQL server of our own; `config` connects to its database `annals`. */
export type EmbeddedPostgres = Readonly<{
  config: pg.ClientConfig;
  version: string;
  pid: number;
  /** Resolves with the reason and the last log lines when the server has ended, requested or not. */
  exited: Promise<string>;
  stop(): Promise<void>;
}>;

/**
 * `pgPort` opens 127.0.0.1 for others, user `postgres` with `password`; without it there is only a private Unix socket.
 * `ephemeral` (for tests) trades durability for speed and removes `dir` at the end.
 */
type PostgresOptions = Readonly<{
  dir: string;
  ephemeral?: boolean;
  pgPort?: number | undefined;
  password?: string | undefined;
  /** Is called before a damaged cluster is renamed; where it returns false, the start fails. */
  mayReplace?: () => boolean;
  /** After how many milliseconds in which it does nothing a server that starts is given up; else a minute. */
  idleMs?: number;
  say: Report;
  signal?: AbortSignal;
}>;

/**
 * Starts PostgreSQL on the cluster in `dir`, making it on first use, and returns once it answers.
 *
 * A cluster that the server itself reports as damaged is renamed, and a new one is made: it held nothing that is not in
 * the log as well. May be called again on the same folder after a crash of the server or of its owner. The caller holds
 * the folder's lock (`lockDir`).
 */
export async function startPostgres(options: PostgresOptions): Promise<EmbeddedPostgres> {
  try {
    return await startOnce(options);
  } catch (caught) {
    if (!(caught instanceof DamagedCluster) || !(options.mayReplace?.() ?? true)) throw caught;
    options.say(caught.message);
    await setClusterAside(path.resolve(options.dir), options.say);
    return await startOnce(options);
  }
}

async function startOnce(options: PostgresOptions): Promise<EmbeddedPostgres> {
  const { password, ephemeral = false, idleMs, say, signal } = options;
  const pgPort = options.pgPort || undefined;
  if (pgPort && !password) throw new Error('PG_PORT opens PostgreSQL to others: set POSTGRES_PASSWORD as well');
  const dir = path.resolve(options.dir);
  await mkdir(dir, { recursive: true, mode: 0o711 });
  const bin = await postgresBinaries();
  await endLeftPostgres(dir);
  const cluster = await whileSaying(say, 'making a PostgreSQL cluster', () =>
    openCluster(bin, dir, { ephemeral, say }),
  );
  await writeAccess(cluster);
  const host = socketPath(path.join(dir, 's'));
  await makeFolder(host, cluster.identity);
  await removeStaleLocks(cluster.folder, path.join(host, `.s.PGSQL.${pgPort ?? SOCKET_NUMBER}`));
  const config = { host, port: pgPort ?? SOCKET_NUMBER, user: USER, database: DATABASE };

  const launch = { dir, bin, cluster, config, ephemeral, isOpen: pgPort !== undefined, idleMs, signal };
  const daemon = await whileSaying(say, 'starting PostgreSQL', () => launchPostgres(launch));
  try {
    const version = await prepareDatabase(config, pgPort === undefined ? undefined : password);
    return { config, version, pid: daemon.pid, exited: daemon.exited, stop: daemon.stop };
  } catch (error) {
    await daemon.stop();
    throw isRefusal(error) ? notWell(error) : error;
  }
}
