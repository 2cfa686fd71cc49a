import { chmod, lstat, mkdtemp, readlink, rename, rm, rmdir, symlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AppError } from '../../kit/errors.ts';

/** Most bytes of a socket's path that every system accepts: macOS takes 103, Linux 107. */
const mostPathBytes = 100;
const socketMode = 0o600;
/** What `mkdtemp` adds to a prefix. */
const randomCharacters = 6;

/** A Unix socket that only its owner may open: the path that clients connect to, and what removes it. */
export type PrivateSocket = Readonly<{ path: string; remove: () => Promise<void> }>;

/**
 * Opens a Unix socket at a path, with mode 0600 from its first moment: it is made in a folder of this process's owner
 * and then renamed.
 *
 * Replaces the socket of a process that is gone; returns undefined, and changes nothing, where a process answers there.
 * Where the path is too long for a socket, a symbolic link lies at it, and `path` is the short one that it leads to.
 * Fails with `UNAVAILABLE` where no path is short enough.
 */
export async function openPrivateSocket(
  file: string,
  listen: (path: string) => Promise<unknown>,
): Promise<PrivateSocket | undefined> {
  const target = await targetOf(file);
  if (await isAnswered(target)) return undefined;
  const isLong = (one: string): boolean => Buffer.byteLength(one) > mostPathBytes;
  // The socket is made under this name before it is renamed, so this one has to be short as well.
  const near = path.join(path.dirname(file), '.s-');
  const isNear = !isLong(`${near}${'x'.repeat(randomCharacters)}/s`);
  const folder = await mkdtemp(isNear ? near : path.join(tmpdir(), 'annals-'));
  const made = path.join(folder, 's');
  const clear = async (): Promise<void> => await rm(folder, { recursive: true, force: true });
  if (isLong(made)) {
    await clear();
    throw new AppError(
      'UNAVAILABLE',
      `No socket can be opened for ${file}: that path and ${made} have more than ${mostPathBytes} bytes. Set DATA_DIR or TMPDIR to a shorter one`,
    );
  }
  await listen(made);
  await chmod(made, socketMode);
  if (target !== file) await rm(target, { force: true }).then(() => rmdir(path.dirname(target)).catch(() => undefined));
  if (isNear && !isLong(file)) {
    const { ino } = await lstat(made);
    await rename(made, file);
    await clear();
    return { path: file, remove: async () => await removeSame(file, ino) };
  }
  await rm(file, { force: true });
  await symlink(made, file);
  return {
    path: made,
    remove: async () => {
      if ((await targetOf(file)) === made) await rm(file, { force: true });
      await clear();
    },
  };
}

/** The path of the socket that a client of `file` connects to: that of the link, where it is one. */
export async function targetOf(file: string): Promise<string> {
  return await readlink(file).catch(() => file);
}

/** Another process may have replaced it since. */
async function removeSame(file: string, inode: number): Promise<void> {
  const status = await lstat(file).catch(() => undefined);
  if (status?.ino === inode) await rm(file, { force: true });
}

/** Returns whether a process accepts connections at a path. */
async function isAnswered(file: string): Promise<boolean> {
  if (Buffer.byteLength(file) > mostPathBytes) return false;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(file);
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  return await promise.finally(() => socket.destroy());
}
