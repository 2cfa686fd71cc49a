import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, renameSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Socket } from 'node:net';

/** How to run one server program. */
type DaemonOptions = Readonly<{
  command: string;
  args: readonly string[];
  /** Standard output and error are appended here. */
  logFile: string;
  /** Requests the server to stop without waiting for its clients. */
  stopSignal: 'SIGINT' | 'SIGTERM' | 'SIGQUIT';
  uid?: number | undefined;
  gid?: number | undefined;
  env?: Readonly<Record<string, string>>;
  /** Removed once the server has ended, also when the owner was killed. */
  removeAfterwards?: string | undefined;
}>;

/** A running server program. */
export type Daemon = Readonly<{
  pid: number;
  /** Resolves with the reason and the last log lines when the server has ended, requested or not. */
  exited: Promise<string>;
  hasExited(): boolean;
  stop(): Promise<void>;
  /** Kills the server without a request to stop. */
  kill(): Promise<void>;
}>;

const QUIT_AFTER_MS = 10_000;
const KILL_AFTER_MS = 13_000;
const MOST_LOG_BYTES = 8 << 20;

/**
 * Ends process $1 with signal $2 as soon as standard input closes, which happens however the owner dies; then removes
 * folder $3, if any. A zombie counts as gone.
 */
const GUARD = `
gone() { ! kill -0 "$1" 2>/dev/null || grep -q "^State:.Z" "/proc/$1/status" 2>/dev/null; }
while read -r _; do :; done
kill -s "$2" "$1" 2>/dev/null
tenths=0
until gone "$1" || [ $tenths -ge 100 ]; do tenths=$((tenths+1)); sleep 0.1; done
gone "$1" || kill -9 "$1" 2>/dev/null
[ -n "$3" ] && rm -rf "$3"
exit 0`;

/**
 * Starts a server in a session of its own, so that Ctrl-C at the terminal reaches only its owner, together with a guard
 * that ends it however the owner dies, `kill -9` included.
 *
 * Neither of the two keeps the owner's event loop alive.
 */
export function startDaemon(options: DaemonOptions): Daemon {
  const child = spawnServer(options);
  let ended = false;
  const ending = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ? `was ended by ${signal}` : `ended with code ${code}`));
    child.once('error', (error) => resolve(`could not be started: ${error.message}`));
  }).finally(() => (ended = true));
  const exited = ending.then(async (reason) => `${reason}\n${await lastLines(options.logFile)}`.trimEnd());
  const guard = child.pid === undefined ? undefined : spawnGuard(child.pid, options);
  const cleanUp = (): void => {
    if (options.removeAfterwards) removeSoon(options.removeAfterwards);
  };
  // A guard must not outlive its server: another process may get that pid.
  void ending.then(() => guard?.kill('SIGKILL'));
  child.unref();

  return {
    pid: child.pid ?? -1,
    exited,
    hasExited: () => ended,
    async stop() {
      if (!ended) await stopChild(child, options.stopSignal, ending);
      cleanUp();
    },
    async kill() {
      child.ref();
      child.kill('SIGKILL');
      await ending;
      cleanUp();
    },
  };
}

/** Removes a folder in a process of its own: gigabytes take half a minute, for which nobody has to wait. */
export function removeSoon(folder: string): void {
  const removal = spawn('rm', ['-rf', folder], { stdio: 'ignore', detached: true, cwd: '/' });
  removal.on('error', () => undefined);
  removal.unref();
}

/** The last lines of a server's log, for messages about its end. */
export async function lastLines(logFile: string): Promise<string> {
  const text = await readFile(logFile, 'utf8').catch(() => '');
  return text.trimEnd().split('\n').slice(-12).join('\n');
}

function spawnServer({ command, args, logFile, uid, gid, env }: DaemonOptions): ChildProcess {
  rotate(logFile);
  const log = openSync(logFile, 'a', 0o600);
  try {
    return spawn(command, args, {
      stdio: ['ignore', log, log],
      detached: true,
      cwd: '/',
      env: { PATH: process.env.PATH, LC_ALL: 'C', ...env },
      uid,
      gid,
    });
  } finally {
    closeSync(log);
  }
}

/**
 * At each start of a server its previous log is kept once; a server logs warnings only, so that a log stays small
 * between two starts.
 */
function rotate(logFile: string): void {
  if ((statSync(logFile, { throwIfNoEntry: false })?.size ?? 0) > MOST_LOG_BYTES) renameSync(logFile, `${logFile}.1`);
}

function spawnGuard(pid: number, { stopSignal, removeAfterwards }: DaemonOptions): ChildProcess {
  const args = ['-c', GUARD, 'annals-guard', String(pid), stopSignal.slice(3), removeAfterwards ?? ''];
  const guard = spawn('sh', args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true, cwd: '/' });
  guard.on('error', () => undefined);
  guard.unref();
  if (guard.stdin instanceof Socket) guard.stdin.unref();
  return guard;
}

async function stopChild(child: ChildProcess, signal: NodeJS.Signals, ending: Promise<unknown>): Promise<void> {
  child.ref();
  child.kill(signal);
  const quit = setTimeout(() => child.kill('SIGQUIT'), QUIT_AFTER_MS);
  const kill = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
  await ending;
  clearTimeout(quit);
  clearTimeout(kill);
}
