import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** Starts a command in the clone as its user; `output()` is all it has written so far. */
export function startInClone({ base, folder, env, wrap }, command, logName, more = {}) {
  const logFile = path.join(base, logName);
  const log = openSync(logFile, 'w');
  const [file, ...args] = [...wrap, ...command];
  const child = spawn(file, args, {
    cwd: folder,
    env: { ...env, ...more },
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  const ended = new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ?? code));
  });
  const process = { child, ended, hasEnded: false, output: () => readFileSync(logFile, 'utf8') };
  void ended.then(() => (process.hasEnded = true));
  return process;
}

/** Processes that were started in the clone and still run: they carry its mark, or its folder on their command line. */
export function leftProcesses({ base, mark }) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((pid) => ({
      pid: Number(pid),
      command: read(pid, 'cmdline').replaceAll('\0', ' ').trim(),
      env: read(pid, 'environ'),
    }))
    .filter(
      ({ command, env }) => command !== '' && (command.includes(base) || env.includes(`ANNALS_FRESH_CHECK=${mark}`)),
    );
}

/** Waits until nothing runs any more. */
export async function untilNoneLeft(clone, withinMs) {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const left = leftProcesses(clone);
    if (left.length === 0) return;
    if (performance.now() > deadline) {
      throw new Error(
        `still running:\n${left.map(({ pid, command }) => `  ${pid} ${command.slice(0, 120)}`).join('\n')}`,
      );
    }
    await pause(50);
  }
}

/** Memory of the whole tree in MB, shared pages counted once. */
export function memoryOf(clone) {
  const sizes = leftProcesses(clone).map(({ pid }) =>
    Number(/^Pss:\s+(\d+)/m.exec(read(pid, 'smaps_rollup'))?.[1] ?? 0),
  );
  return Math.round(sizes.reduce((sum, size) => sum + size, 0) / 1024);
}

function read(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
