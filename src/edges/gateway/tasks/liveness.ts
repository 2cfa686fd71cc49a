import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type FileHandle, lstat, mkdir, open, readdir, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import path from 'node:path';

/** The kernel's evidence, among processes that share a folder, that one of them has ended. */
export type Liveness = Readonly<{
  /** Names this process in the folder. */
  id: string;
  /** Returns true only where the process of an id has certainly ended; false is evidence of nothing. */
  hasEnded: (id: string) => Promise<boolean>;
  /** Call it once this process has nothing in hand any more. */
  close: () => Promise<void>;
}>;

/** File systems of one kernel alone: ext, XFS, Btrfs, tmpfs, ZFS, overlay, F2FS. */
const localTypes = [0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x2fc12fc1, 0x794c7630, 0xf2f52010];
const idForm = /^[0-9a-f]{16}$/;
/** Evidence of those that ended earlier is no longer of use: their leases have run out. */
const mostKept = 16;

/**
 * Listens on a Unix socket in the folder for as long as this process lives: the kernel refuses connections once it
 * ends.
 *
 * A refusal counts only where nothing else explains it: on a file system that no other kernel has, for a socket that
 * was made in this boot and is the very file that its process noted once it listened, so no copy of it. Where that
 * cannot be had, as on other systems than Linux, nobody is ever considered ended.
 */
export async function openLiveness(folder: string): Promise<Liveness> {
  const id = randomBytes(8).toString('hex');
  const opened = await openSocket(folder, id).catch(() => undefined);
  if (!opened) return { id, hasEnded: async () => await Promise.resolve(false), close: async () => undefined };
  const { at, server, handle, boot } = opened;
  const ended = new Set<string>();
  const hasEnded = async (other: string): Promise<boolean> => {
    if (ended.has(other)) return true;
    if (!idForm.test(other) || !(await isRefused(at(other)))) return false;
    const [noted, now] = await Promise.all([readFile(at(`${other}.made`), 'utf8'), identityOf(at(other), boot)]);
    if (noted === now) ended.add(other);
    return noted === now;
  };
  const judged = async (other: string): Promise<boolean> => await hasEnded(other).catch(() => false);
  await removeOld({ at, handle, boot }, judged).catch(() => undefined);
  return {
    id,
    hasEnded: judged,
    close: async () => {
      server.close();
      await rm(at(`${id}.made`), { force: true }).catch(() => undefined);
      await handle.close();
    },
  };
}

type Opened = Readonly<{
  /** The path of a name in the folder, short however long the folder's own is. */
  at: (name: string) => string;
  server: Server;
  handle: FileHandle;
  boot: string;
}>;

/** Fails where this machine or the folder's file system gives no evidence. */
async function openSocket(below: string, id: string): Promise<Opened> {
  const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  const folder = path.join(below, 'alive');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (!localTypes.includes((await statfs(folder)).type)) throw new Error('Other machines may have this folder');
  const handle = await open(folder);
  const at = (name: string): string => `/proc/self/fd/${handle.fd}/${name}`;
  const server = createServer((socket) => socket.destroy()).unref();
  try {
    await once(server.listen(at(id)), 'listening');
    server.on('error', () => undefined);
    // A process that ends before this is written leaves no evidence: a socket that is made but not listened to yet
    // refuses as well.
    await writeFile(at(`${id}.made`), await identityOf(at(id), boot), { mode: 0o600 });
  } catch (caught) {
    server.close();
    await handle.close();
    throw caught;
  }
  return { at, server, handle, boot };
}

/** A copy has another inode or was changed later; nobody can set the time of a change. */
async function identityOf(file: string, boot: string): Promise<string> {
  const { dev, ino, ctimeNs } = await lstat(file, { bigint: true });
  return `${boot} ${dev} ${ino} ${ctimeNs}\n`;
}

/** Returns whether nobody listens; a full queue, a missing file or right, and an answer are no refusal. */
async function isRefused(file: string): Promise<boolean> {
  const socket = connect(file);
  try {
    await once(socket, 'connect');
    return false;
  } catch (caught) {
    return caught instanceof Error && 'code' in caught && caught.code === 'ECONNREFUSED';
  } finally {
    socket.destroy();
  }
}

/** Removes what is evidence no longer: of earlier boots, and of all but the latest that have ended. */
async function removeOld(
  { at, handle, boot }: Pick<Opened, 'at' | 'handle' | 'boot'>,
  hasEnded: Liveness['hasEnded'],
): Promise<void> {
  const noted: { id: string; made: string; ms: number }[] = [];
  for (const name of await readdir(`/proc/self/fd/${handle.fd}`)) {
    const id = path.basename(name, '.made');
    if (id === name) continue;
    const [made, { mtimeMs }] = await Promise.all([readFile(at(name), 'utf8'), lstat(at(name))]);
    noted.push({ id, made, ms: mtimeMs });
  }
  const ofOthers = noted.filter(({ made }) => !made.startsWith(boot));
  const older = noted.toSorted((a, b) => b.ms - a.ms).slice(mostKept);
  const removed = [...ofOthers];
  for (const one of older) if (await hasEnded(one.id)) removed.push(one);
  for (const { id } of removed) for (const name of [id, `${id}.made`]) await rm(at(name), { force: true });
}
