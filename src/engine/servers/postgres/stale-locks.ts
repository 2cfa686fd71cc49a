import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { wait } from '../../../kit/wait.ts';
import { isAlive, runsWith } from '../predecessor.ts';

/** How long a lock file may hold nothing while the server that made it is about to write into it. */
const EMPTY_MS = 200;

/**
 * Removes the lock files that no server holds and for which PostgreSQL would refuse to start nevertheless, in the
 * cluster's folder and in the folder of its sockets: one whose pid now belongs to another process, as after a crash of
 * the machine, and one whose server was killed before it wrote its pid. In every other case the file stays:
 * PostgreSQL's own checks against a second server use it. The caller holds the lock of the folder of both.
 */
export async function removeStaleLocks(cluster: string, socket: string): Promise<void> {
  for (const file of [path.join(cluster, 'postmaster.pid'), `${socket}.lock`]) {
    if (await isStale(file, cluster)) await rm(file, { force: true });
  }
}

async function isStale(file: string, cluster: string): Promise<boolean> {
  if ((await textOf(file)) === '') {
    await wait(EMPTY_MS);
    return (await textOf(file)) === '';
  }
  const pid = Number((await textOf(file))?.split('\n', 1)[0]);
  return pid > 1 && isAlive(pid) && !(await runsWith(pid, cluster));
}

/** Undefined where the file is not there or cannot be read. */
async function textOf(file: string): Promise<string | undefined> {
  return await readFile(file, 'utf8').catch(() => undefined);
}
