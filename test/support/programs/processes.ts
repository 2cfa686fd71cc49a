import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { until } from '../polling.ts';

/** A script of the tests that runs as a process of its own. */
export type Script = Readonly<{ child: ChildProcess; nextLine(): Promise<string>; ended: Promise<unknown> }>;

/** Runs a TypeScript file beside the test; it is killed when the test is over. */
export function runScript(
  url: URL,
  args: readonly string[],
  options: { lifeline?: boolean; env?: NodeJS.ProcessEnv } = {},
): Script {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', fileURLToPath(url), ...args], {
    stdio: ['pipe', 'pipe', 'inherit', options.lifeline ? 'pipe' : 'ignore'],
    env: { ...process.env, ...options.env, ...(options.lifeline ? { ANNALS_LIFELINE_FD: '3' } : {}) },
  });
  if (!child.stdout) throw new Error('The script has no output to read');
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const ended = once(child, 'exit');
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, nextLine: async () => String((await lines.next()).value), ended };
}

/** A temporary folder that is removed when the test is over. */
export function temporaryFolder(name = 'annals-'): string {
  const folder = mkdtempSync(path.join(tmpdir(), name));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Kills a server some time after its pid file names another process than `before`; gives back whom it killed. */
export async function killWhileStarting(pidFile: string, before: number, afterMs: number): Promise<number> {
  const pid = await until('the server has a process', () => {
    const found = Number(readFileSync(pidFile, 'utf8'));
    return found > 1 && found !== before && found;
  });
  await pause(afterMs);
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself: then the start was over before.
  }
  return pid;
}
