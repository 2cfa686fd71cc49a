import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

/** Receives one line of progress for the person at the terminal. */
export type Report = (message: string) => void;

const execute = promisify(execFile);

/**
 * Runs a program to its end and returns what it wrote to standard output.
 *
 * Rejects when it cannot be started, ends with another code than 0 or takes longer than `timeoutMs`; the error carries
 * `stdout` and `stderr`.
 */
export async function run(
  file: string,
  args: readonly string[],
  options: {
    timeoutMs?: number;
    cwd?: string;
    env?: NodeJS.ProcessEnv;
    uid?: number | undefined;
    gid?: number | undefined;
    signal?: AbortSignal;
  } = {},
): Promise<string> {
  const { timeoutMs = 10_000, ...rest } = options;
  const { stdout } = await execute(file, [...args], { ...rest, timeout: timeoutMs, maxBuffer: 16 << 20 });
  return stdout;
}

/** Like `run`, for questions: trimmed output, or undefined when the program is missing or fails. */
export async function request(file: string, ...args: string[]): Promise<string | undefined> {
  try {
    return (await run(file, args)).trim();
  } catch {
    return undefined;
  }
}

/** Finds a program on PATH and in the folders for servers that an ordinary user's PATH often lacks. */
export function which(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/local/sbin', '/usr/sbin', '/opt/homebrew/bin'];
  return folders.map((folder) => path.join(folder, name)).find(isExecutable);
}

/** The user's cache of fetched programs: `ANNALS_CACHE`, else `annals` in the platform's cache folder. */
export function cacheFolder(): string {
  const { ANNALS_CACHE, XDG_CACHE_HOME } = process.env;
  return path.resolve(ANNALS_CACHE || path.join(XDG_CACHE_HOME || path.join(homedir(), '.cache'), 'annals'));
}

/** Returns whether the file exists and may be run by this user. */
function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const QUIET_MS = 2_000;
const REMIND_MS = 10_000;

/** Runs work that may take a while; reports it after two seconds, and again every ten. */
export async function whileSaying<T>(report: Report, what: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const first = setTimeout(() => report(`${what} …`), QUIET_MS);
  const reminder = setInterval(() => {
    report(`${what} … ${Math.round((performance.now() - started) / 1000)} s`);
  }, REMIND_MS);
  try {
    return await work();
  } finally {
    clearTimeout(first);
    clearInterval(reminder);
  }
}
