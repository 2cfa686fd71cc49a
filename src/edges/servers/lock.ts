import { mkdirSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import path from 'node:path';
import { AppError } from '../../commands/errors.ts';
import { socketPath } from './socket-path.ts';

/** Held as long as the process lives; `release` gives it up earlier. */
export type DirLock = Readonly<{ release(): Promise<void> }>;

const ATTEMPTS = 5;

/**
 * Makes this process the only owner of a data folder, or fails with the pid of the one that is.
 *
 * The lock is a listening Unix socket: it cannot outlive its process, so a stale one is told apart with certainty.
 */
export async function lockDir(dir: string): Promise<DirLock> {
  mkdirSync(dir, { recursive: true, mode: 0o711 });
  const socket = socketPath(path.join(path.resolve(dir), 'lock.sock'));
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const server = await listen(socket);
    if (server) return { release: () => new Promise((resolve) => server.close(() => resolve())) };
    const owner = await askOwner(socket);
    if (owner)
      throw new AppError(
        'UNAVAILABLE',
        `${dir} is in use by process ${owner}: stop that one first, or set DATA_DIR to another folder`,
      );
    rmSync(socket, { force: true });
  }
  throw new Error(`Cannot lock ${dir}: another process keeps taking it`);
}

/** The listening server, or undefined when the socket's file is there already. */
function listen(socket: string): Promise<Server | undefined> {
  const server = createServer((client) => {
    client.on('error', () => undefined);
    client.end(String(process.pid));
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

/** The pid of whoever listens, or undefined when nobody does. */
function askOwner(socket: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let answer = '';
    const client = connect(socket);
    client.on('data', (chunk) => (answer += chunk.toString()));
    client.on('close', () => resolve(answer || undefined));
    client.on('error', () => resolve(undefined));
  });
}
