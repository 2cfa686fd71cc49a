import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setAside } from '../aside.ts';
import { request, run, type Report } from '../commands.ts';
import { writeDurably } from '../durable-file.ts';
import { POSTGRES_MAJOR } from './postgres-binaries.ts';

/** The user that PostgreSQL runs as: the words before its command line, and the ids to switch to. */
export type Identity = Readonly<{
  mode: 'self' | 'namespace' | 'setuid';
  wrap: readonly string[];
  uid?: number | undefined;
  gid?: number | undefined;
}>;

const NAMESPACE = ['unshare', '--map-user=65534', '--map-group=65534'] as const;

/**
 * PostgreSQL refuses to run as root. As root it gets a user namespace that shows uid 0 under another number, so files
 * stay root's and no account is needed; where such namespaces are refused it runs as `postgres` or `nobody`.
 *
 * A cluster made in one mode is unreadable in the other: pass the mode it was made in as `required`.
 */
export async function postgresIdentity(required?: string): Promise<Identity> {
  if (process.getuid?.() !== 0) return { mode: 'self', wrap: [] };
  const [unshare, ...args] = NAMESPACE;
  if (required !== 'setuid' && (await request(unshare, ...args, 'true')) !== undefined) {
    return { mode: 'namespace', wrap: NAMESPACE };
  }
  for (const user of ['postgres', 'nobody']) {
    const [uid, gid] = await Promise.all([request('id', '-u', user), request('id', '-g', user)]);
    if (uid && gid) return { mode: 'setuid', wrap: [], uid: Number(uid), gid: Number(gid) };
  }
  throw new Error('Cannot run PostgreSQL as root here: run as an ordinary user, or set DB_DSN to a server of yours');
}

/** The data folder of a PostgreSQL server and its owner. */
export type Cluster = Readonly<{ folder: string; identity: Identity }>;

/** How a cluster is opened. */
export type ClusterOptions = Readonly<{ ephemeral: boolean; say: Report }>;

/** Written beside the cluster once it is complete; holds the identity mode it was made in. */
const MARKER = `pg${POSTGRES_MAJOR}.mode`;

const INITDB = [
  ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8'],
  ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C', '--data-checksums'],
].flat();

/** The cluster's own folder in the folder of the server. */
export function clusterFolder(dir: string): string {
  return path.join(dir, `pg${POSTGRES_MAJOR}`);
}

/** Renames a damaged cluster, so that the next start makes a new one. */
export async function setClusterAside(dir: string, report: Report): Promise<void> {
  await setAside(clusterFolder(dir), report);
  await rm(path.join(dir, MARKER), { force: true });
}

/**
 * Opens the cluster in `dir`, or makes it. A partly initialised cluster is made anew; one that lost its `PG_VERSION`
 * since is renamed.
 *
 * `ephemeral` leaves out the flush to disk.
 */
export async function openCluster(bin: string, dir: string, { ephemeral, say }: ClusterOptions): Promise<Cluster> {
  const folder = clusterFolder(dir);
  const marker = path.join(dir, MARKER);
  const mode = await readMarker(marker);
  const identity = await postgresIdentity(mode);
  if (mode !== undefined && existsSync(path.join(folder, 'PG_VERSION'))) {
    if (mode !== identity.mode) throw new Error(`Cannot open ${folder}: ${differs(mode, identity.mode)}`);
    return { folder, identity };
  }
  if (mode === undefined) await removeHalfMade(folder, marker);
  else await setClusterAside(dir, say);
  await makeFolder(folder, identity);
  await initialize(bin, folder, identity, ephemeral);
  await writeDurably(marker, identity.mode);
  return { folder, identity };
}

/** Undefined only where there is no marker: an unreadable one proves nothing about the cluster beside it. */
async function readMarker(marker: string): Promise<string | undefined> {
  try {
    return await readFile(marker, 'utf8');
  } catch (caught) {
    if (caught instanceof Error && 'code' in caught && caught.code === 'ENOENT') return undefined;
    throw new Error(`Cannot read ${marker}; the cluster beside it stays as it is`, { cause: caught });
  }
}

/**
 * A server writes `postmaster.opts` when it first runs on a cluster: where it lies, the cluster was complete, and holds
 * data.
 */
async function removeHalfMade(folder: string, marker: string): Promise<void> {
  if (existsSync(path.join(folder, 'postmaster.opts')))
    throw new Error(
      `${folder} holds a cluster that was in use, but ${marker} is missing: bring it back, or move the folder away, and start again`,
    );
  await rm(folder, { recursive: true, force: true });
}

/**
 * Writes who may connect: over the private socket every process that can reach it, over TCP (where it is opened) only
 * with a password.
 */
export async function writeAccess({ folder, identity }: Cluster): Promise<void> {
  const file = path.join(folder, 'pg_hba.conf');
  await writeFile(file, 'local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n', { mode: 0o600 });
  await giveTo(identity, file);
}

/** Makes a folder that only the server's user may enter. */
export async function makeFolder(folder: string, identity: Identity): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  await giveTo(identity, folder);
}

async function giveTo({ uid, gid }: Identity, file: string): Promise<void> {
  if (uid !== undefined && gid !== undefined) await chown(file, uid, gid);
}

const differs = (made: string, now: string) =>
  `it was made in mode "${made}" and this process can only use "${now}"; start as the same user as before, or move the folder away`;

async function initialize(bin: string, folder: string, identity: Identity, ephemeral: boolean): Promise<void> {
  const { wrap, uid, gid } = identity;
  const [file = '', ...args] = [...wrap, path.join(bin, 'initdb'), '-D', folder, ...INITDB];
  try {
    await run(file, [...args, ...(ephemeral ? ['--no-sync'] : [])], {
      timeoutMs: 180_000,
      cwd: '/',
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
      uid,
      gid,
    });
  } catch (error) {
    const hint =
      identity.mode === 'setuid'
        ? ' (every folder above must be searchable by others, or run as an ordinary user, or set DB_DSN)'
        : '';
    throw new Error(`Cannot make a PostgreSQL cluster in ${folder}${hint}`, { cause: error });
  }
}
