import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { settings } from '../../../src/config.ts';
import type { Instance } from '../../../src/engine/servers/instance.ts';
import { until } from '../polling.ts';
import { nodeArguments as usualArguments } from './node-arguments.ts';

/** How to start the program: its settings, and `DATA_DIR`, which may be that of an earlier start to go on with it. */
export type RunOptions = Readonly<{
  env?: Readonly<Record<string, string>>;
  dataDir: string;
  network?: string;
  /** Arguments for Node itself. */
  nodeArguments?: readonly string[];
}>;

/** A line of the program's log; where it is no JSON, `msg` is the whole line. */
export type LogLine = Readonly<{ level: string; msg: string; [field: string]: unknown }>;

/** The whole program as a process of its own. */
export type Program = Readonly<{
  pid: number;
  dataDir: string;
  /** The network's folder in it, with `nats` and `db`. */
  folder: string;
  /** Address of the REST API, or of the operations of a process without one, without a slash at its end. */
  base: string;
  /** What it says of itself: addresses, and how to reach its stores. */
  instance: Instance;
  /** Every line of its log so far. */
  log: readonly LogLine[];
  /** Process ids of its embedded servers now; 0 for one that it does not run. */
  servers: () => Readonly<{ nats: number; postgres: number }>;
  /** Waits until `/readyz` answers 200. */
  untilReady: (withinMs?: number) => Promise<void>;
  /** Its exit status once it has ended; null after a signal. */
  exited: Promise<number | null>;
  /** Asks it to stop as Ctrl-C does, and waits until it has ended; gives back its exit status. */
  stop: () => Promise<number | null>;
  /** Ends it as `kill -9` does, and waits until it has ended; its servers end a moment later. */
  kill: () => Promise<void>;
}>;

const entry = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
const stopWithinMs = 40_000;

/**
 * Starts `annals up` on free ports and waits until it has announced itself; it may not be ready then (`untilReady`).
 *
 * Settings of the surrounding environment do not reach it. It ends with this process in any case.
 *
 * @example const program = await runProgram({ dataDir, env: { CHAIN_API_BASE: chain.url } })
 */
export async function runProgram(options: RunOptions): Promise<Program> {
  const { dataDir, network = 'e2e' } = options;
  const folder = path.join(dataDir, network);
  const log: LogLine[] = [];
  const env = { ...options.env, DATA_DIR: dataDir, NETWORK: network };
  const child = spawnProgram(env, options.nodeArguments ?? [], log);
  const exited = once(child, 'exit').then(([status]: unknown[]) => (typeof status === 'number' ? status : null));
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;

  const stop = async () => {
    child.kill('SIGTERM');
    const late = new AbortController();
    void pause(stopWithinMs, undefined, { signal: late.signal }).then(
      () => child.kill('SIGKILL'),
      () => undefined,
    );
    const status = await exited;
    late.abort();
    return status;
  };
  const instance = await until('the program announces itself', () => {
    if (hasEnded()) return 'ended' as const;
    const found = JSON.parse(readFileSync(path.join(folder, 'run.json'), 'utf8')) as Instance;
    return found.pid === child.pid && found;
  }).catch(async (caught: unknown) => {
    await stop();
    throw new Error(`The program did not announce itself\n${lastLines(log)}`, { cause: caught });
  });
  if (instance === 'ended') throw new Error(`The program ended with status ${await exited}\n${lastLines(log)}`);

  const base = (instance.urls.readiness ?? '').replace(/\/readyz$/, '');
  return {
    pid: instance.pid,
    dataDir,
    folder,
    base,
    instance,
    log,
    servers: () => ({ nats: pidIn(folder, 'nats', 'nats.pid'), postgres: pidIn(folder, 'db', 'postgres.pid') }),
    untilReady: async (withinMs) => {
      await until('the program is ready', async () => (await fetch(`${base}/readyz`)).status === 200, withinMs);
    },
    exited,
    stop,
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** The child holds the end of a pipe, so that it stops by itself where this process is killed. */
function spawnProgram(
  env: Readonly<Record<string, string>>,
  nodeArguments: readonly string[],
  log: LogLine[],
): ChildProcess {
  const own = new Set<string>(Object.values(settings).map((setting) => setting.env));
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.has(name)));
  const local = {
    LCD_PORT: '0',
    RPC_PORT: '0',
    GATEWAY_PORT: '0',
    EVM_HTTP_PORT: '0',
    EVM_WS_PORT: '0',
    EVM_BLOCK_TIME: '0',
  };
  const free = { PORT: '0', NATS_PORT: '0', NATS_WS_PORT: '0', ...local, LOG_FORMAT: 'json' };
  const child = spawn(process.execPath, [...usualArguments, ...nodeArguments, entry, 'up'], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    env: { ...inherited, ...free, ...env, ANNALS_LIFELINE_FD: '3' },
  });
  if (child.stderr) createInterface(child.stderr).on('line', (line) => log.push(parseLine(line)));
  return child;
}

function parseLine(text: string): LogLine {
  try {
    return JSON.parse(text) as LogLine;
  } catch {
    return { level: 'none', msg: text };
  }
}

function lastLines(log: readonly LogLine[]): string {
  return log
    .slice(-15)
    .map((line) => JSON.stringify(line))
    .join('\n');
}

function pidIn(...segments: readonly string[]): number {
  try {
    return Number(readFileSync(path.join(...segments), 'utf8').trim());
  } catch {
    return 0;
  }
}
