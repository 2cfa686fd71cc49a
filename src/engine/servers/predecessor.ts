import { readFile, rm, writeFile } from 'node:fs/promises';
import { wait } from '../../kit/wait.ts';
import { request } from './commands.ts';

const KILL_AFTER_MS = 10_000;
const LOOK_EVERY_MS = 50;

/**
 * Ends the server that an earlier owner of this folder left behind, and returns when it is gone.
 *
 * After `kill -9` of an owner its guard needs a moment to stop the server; two servers on one folder would corrupt it.
 * `argument` is part of the server's command line, so that another process with its old pid is left alone. The caller
 * holds the folder's lock.
 */
export async function endPredecessor(pidFile: string, argument: string, signal: NodeJS.Signals): Promise<void> {
  const pid = Number((await readFile(pidFile, 'utf8').catch(() => '')).split('\n', 1)[0]);
  if (pid > 1 && (await runsWith(pid, argument))) {
    send(pid, signal);
    const deadline = performance.now() + KILL_AFTER_MS;
    while (await runsWith(pid, argument)) {
      if (performance.now() > deadline) send(pid, 'SIGKILL');
      await wait(LOOK_EVERY_MS);
    }
  }
  await rm(pidFile, { force: true });
}

/** The process may end between the check and the signal. */
function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (caught) {
    if (!(caught instanceof Error && 'code' in caught && caught.code === 'ESRCH')) throw caught;
  }
}

/** Remembers a server that was just started for `endPredecessor`. */
export async function rememberServer(pidFile: string, pid: number): Promise<void> {
  await writeFile(pidFile, `${pid}\n`);
}

/** Returns whether the process is there and was started with this argument. */
export async function runsWith(pid: number, argument: string): Promise<boolean> {
  return (await commandLine(pid))?.includes(argument) ?? false;
}

/** Returns whether a process of this number exists, whatever its user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** A dead process that its parent has not waited for yet has an empty command line. */
async function commandLine(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') return request('ps', '-o', 'command=', '-p', String(pid));
  return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined);
}
