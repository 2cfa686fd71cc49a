import { readdir, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { wait } from '../../../kit/wait.ts';
import { isDataDamage } from '../aside.ts';
import { startDaemon, type Daemon } from '../daemon.ts';
import type { Cluster } from './postgres-cluster.ts';
import { assertAnswers } from './postgres-database.ts';
import { createPatience } from '../patience.ts';
import { endPredecessor, rememberServer } from '../predecessor.ts';

/** The parts of a start once the cluster exists. `isOpen`: others may connect to the port of `config` on 127.0.0.1. */
type Launch = Readonly<{
  dir: string;
  bin: string;
  cluster: Cluster;
  config: pg.ClientConfig;
  ephemeral: boolean;
  isOpen: boolean;
  idleMs?: number | undefined;
  signal?: AbortSignal | undefined;
}>;

/** `cannot_connect_now`: what is left of a crash is being recovered. */
const STARTING = '57P03';
/** A server that does not run takes connections and never answers them. */
const ANSWERS_WITHIN_MS = 5_000;
/** How long processes of a killed server may take to notice. */
const LEFTOVERS_WITHIN_MS = 15_000;
const LEFTOVERS = /pre-existing shared memory block|lock file ".*" already exists/;

const MEGABYTE = 2 ** 20;

/**
 * Memory for pages of the database, allocated as it is filled: as much as its files hold, between 512 MB and 4 GB, and
 * at most a tenth of the machine's memory. Each gigabyte costs 20 MB from the start, whether it is filled or not.
 */
function bufferSize(held: number): string {
  const most = Math.min(os.totalmem(), process.constrainedMemory() || Infinity) / 10;
  const bytes = Math.min(Math.max(held, 512 * MEGABYTE), most, 4096 * MEGABYTE);
  return `${Math.max(Math.floor(bytes / MEGABYTE), 64)}MB`;
}

const LEAN = {
  max_connections: '60',
  // A process that waits for subscriptions, of which there are none.
  max_logical_replication_workers: '0',
  jit: 'off',
  // With a quarter of it checkpoints of a long rebuild came 9 to 25 s apart, and each page is logged whole after one.
  max_wal_size: '2GB',
  // By default PostgreSQL takes a thirty-second of the other memory; every process that writes comes to hold all of it.
  wal_buffers: '4MB',
  io_method: 'sync',
  // Reads into memory at the start what was there when the server stopped.
  shared_preload_libraries: 'pg_prewarm',
  log_min_messages: 'warning',
  log_checkpoints: 'off',
};
const FORGETFUL = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  max_connections: '200',
};

/** Ends a server that an earlier owner left behind on this folder. */
export function endLeftPostgres(dir: string): Promise<void> {
  return endPredecessor(pidFileIn(dir), dir, 'SIGINT');
}

/**
 * Starts the server and waits until it answers. Fails with `DamagedCluster` when its last words report damaged data.
 */
export async function launchPostgres(launch: Launch): Promise<Daemon> {
  return await launchOnce({ ...launch, sharedBuffers: bufferSize(await bytesIn(launch.cluster.folder)) });
}

/** Bytes of the files of all databases of a cluster; 0 where it cannot be read. */
async function bytesIn(cluster: string): Promise<number> {
  const names = await readdir(path.join(cluster, 'base'), { recursive: true, withFileTypes: true }).catch(() => []);
  const files = names.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  const sizes = await Promise.all(
    files.map(
      async (file) =>
        await stat(file).then(
          (match) => match.size,
          () => 0,
        ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

type Sized = Launch & Readonly<{ sharedBuffers: string }>;

/** Again and again while processes of a killed server hold its memory. */
async function launchOnce(launch: Sized): Promise<Daemon> {
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
      await wait(200);
    }
  }
}

function startServer({
  dir,
  bin,
  cluster: { folder, identity },
  config,
  ephemeral,
  isOpen,
  sharedBuffers,
}: Sized): Daemon {
  const settings = {
    ...LEAN,
    shared_buffers: sharedBuffers,
    ...(ephemeral ? FORGETFUL : {}),
    port: config.port,
    listen_addresses: isOpen ? '127.0.0.1' : '',
    unix_socket_directories: JSON.stringify(config.host),
    unix_socket_permissions: '0700',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const [command = '', ...args] = [...identity.wrap, path.join(bin, 'postgres'), '-D', folder, ...flags];
  return startDaemon({
    command,
    args,
    logFile: path.join(dir, 'postgres.log'),
    // What is removed afterwards need not be written before.
    stopSignal: ephemeral ? 'SIGQUIT' : 'SIGINT',
    uid: identity.uid,
    gid: identity.gid,
    removeAfterwards: ephemeral ? dir : undefined,
  });
}

async function untilReady(daemon: Daemon, { dir, config, idleMs, signal }: Launch): Promise<void> {
  const mayWait = createPatience(daemon.pid, idleMs);
  for (;;) {
    signal?.throwIfAborted();
    try {
      await assertAnswers({ ...config, connectionTimeoutMillis: ANSWERS_WITHIN_MS, query_timeout: ANSWERS_WITHIN_MS });
      return;
    } catch (error) {
      if (daemon.hasExited()) throw endedBy(await daemon.exited, error);
      if (isRefusal(error)) throw notWell(error);
      if (!mayWait(isStarting(error))) throw notReady(daemon, dir, error);
      await wait(25);
    }
  }
}

const isStarting = (error: unknown): boolean => error instanceof pg.DatabaseError && error.code === STARTING;

function notReady({ pid }: Daemon, dir: string, cause: unknown): Error {
  const log = path.join(dir, 'postgres.log');
  return new Error(`PostgreSQL (process ${pid}) does not answer and does nothing. Read ${log}`, { cause });
}

/** The server ended, or refuses to work, because of what lies in its folder. */
export class DamagedCluster extends Error {}

/** An error for a server that runs but refuses a request; of damage only where the refusal names it. */
export function notWell(refusal: Error): Error {
  const isDamaged = hasDamageCode(refusal) || isDataDamage(refusal.message);
  const Failure = isDamaged ? DamagedCluster : Error;
  return new Failure(`PostgreSQL runs, but not well: ${refusal.message}`, { cause: refusal });
}

/** A page that cannot be read, or entries of an index that contradict its table. */
const hasDamageCode = (refusal: Error): boolean =>
  refusal instanceof pg.DatabaseError && ['XX001', 'XX002'].includes(refusal.code ?? '');

function endedBy(lastWords: string, cause: unknown): Error {
  const Failure = isDataDamage(lastWords) ? DamagedCluster : Error;
  return new Failure(`PostgreSQL ${lastWords}`, { cause });
}

/**
 * Returns whether an error is a refusal: a server that is starting, stopping or out of resources has codes of its own,
 * every other code is one.
 */
export function isRefusal(error: unknown): error is Error {
  return error instanceof pg.DatabaseError && !/^(57|53)/.test(error.code ?? '57');
}

const pidFileIn = (dir: string) => path.join(dir, 'postgres.pid');
