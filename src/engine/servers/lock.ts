import { createHash, randomUUID } from 'node:crypto';
import { lstatSync, mkdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AppError } from '../../kit/errors.ts';

/** Held as long as the process lives; `release` ends it earlier. */
export type DirLock = Readonly<{ release(): Promise<void> }>;

const ATTEMPTS = 5;

/**
 * Makes this process the only owner of a data folder, which is made where it is missing, or fails with the pid of the
 * one that is.
 *
 * A lock is a listening Unix socket, which cannot outlive its process. Two of them guard a folder:
 * - on Linux one in the abstract namespace, which is no file, so that nothing stale is ever removed and of two starts
 *   exactly one wins;
 * - one whose file lies in the folder, for processes of other network namespaces (containers on one volume) and other
 *   systems. A stale file is replaced, and the process that replaced it checks twice that it is the one which answers
 *   there.
 */
export async function lockDir(dir: string): Promise<DirLock> {
  makeFolder(path.resolve(dir));
  const own = `${process.pid} ${randomUUID()}`;
  const held: Server[] = [];
  const release = async (): Promise<void> => void (await Promise.all(held.map(close)));
  try {
    if (process.platform === 'linux') held.push(await lockName(dir, own));
    held.push(await lockFile(dir, own));
  } catch (caught) {
    await release();
    throw caught;
  }
  return { release };
}

/** Node's own recursive way never returns where a parent exists and says that it does not, as `/proc` does. */
function makeFolder(dir: string): void {
  if (isFolder(dir)) return;
  const parent = path.dirname(dir);
  if (parent !== dir) makeFolder(parent);
  try {
    mkdirSync(dir, { mode: 0o711 });
  } catch (caught) {
    // Another start may have made it meanwhile.
    if (isFolder(dir)) return;
    const why = caught instanceof Error ? caught.message : String(caught);
    throw new AppError('UNAVAILABLE', `Cannot use ${dir}: ${why}. Set DATA_DIR to a folder of yours`, {
      cause: caught,
    });
  }
}

function isFolder(dir: string): boolean {
  try {
    return statSync(dir).isDirectory();
  } catch {
    return false;
  }
}

/** Holds the folder's name in the abstract namespace. */
async function lockName(dir: string, own: string): Promise<Server> {
  const name = `\0annals-${createHash('sha256').update(realpathSync(dir)).digest('hex')}`;
  const server = await listen(name, own);
  if (server) return server;
  throw inUse(dir, await requestOwner(name));
}

async function lockFile(dir: string, own: string): Promise<Server> {
  const socket = socketPath(path.join(path.resolve(dir), 'lock.sock'));
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const server = await listen(socket, own);
    if (server && (await requestOwner(socket)) === own && (await requestOwner(socket)) === own) return server;
    if (server) await close(server);
    const owner = await requestOwner(socket);
    if (owner) throw inUse(dir, owner);
    rmSync(socket, { force: true });
  }
  throw new AppError('UNAVAILABLE', `Cannot lock ${dir}: another process keeps taking it; try again`);
}

function inUse(dir: string, owner = 'unknown'): AppError {
  const [pid] = owner.split(' ');
  return new AppError(
    'UNAVAILABLE',
    `${dir} is in use by process ${pid}: stop that one first, or set DATA_DIR to another folder`,
  );
}

/** The listening server, or undefined when another process listens there, or did once. */
function listen(socket: string, answer: string): Promise<Server | undefined> {
  const server = createServer((client) => {
    client.on('error', () => undefined);
    client.end(answer);
  });
  server.unref();
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(new Error(`Cannot lock a folder with ${socket}: ${error.message}`, { cause: error }));
    });
    server.listen(socket, () => resolve(server));
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

/** The answer of the process that listens, its pid first; undefined when none does. */
function requestOwner(socket: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let answer = '';
    const client = connect(socket);
    client.on('data', (chunk) => (answer += chunk.toString()));
    client.on('close', () => resolve(answer || undefined));
    client.on('error', () => resolve(undefined));
  });
}

/** Room for what is put behind the path; systems allow 104 (macOS) to 108 bytes (Linux) for a Unix socket. */
const LONGEST_BYTES = 80;

/**
 * The path itself when a Unix socket may lie there, else a short one derived from it in a private folder of this user.
 *
 * The same input always gives the same path.
 */
export function socketPath(wanted: string): string {
  if (Buffer.byteLength(wanted) <= LONGEST_BYTES) return wanted;
  return path.join(privateFolder(), createHash('sha256').update(wanted).digest('hex').slice(0, 16));
}

/** A folder that only this user can have made and can enter; anyone may put things into the system's temp folder. */
function privateFolder(): string {
  const uid = process.getuid?.() ?? 0;
  const shortest = Buffer.byteLength(tmpdir()) > 55 ? '/tmp' : tmpdir();
  const folder = path.join(shortest, `annals-${uid}`);
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  const match = lstatSync(folder);
  if (!match.isDirectory() || match.uid !== uid || (match.mode & 0o022) !== 0) {
    throw new Error(`Cannot use ${folder} for sockets: it belongs to someone else; set DATA_DIR to a shorter path`);
  }
  return folder;
}
