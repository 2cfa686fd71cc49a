import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Say } from './commands.ts';
import { startDaemon, type Daemon } from './daemon.ts';
import { fetchNats } from './fetch-nats.ts';
import { natsConfig } from './nats-config.ts';

/** A nats-server of our own; `user` and `pass` are for ourselves, outsiders connect without. */
export type EmbeddedNats = Readonly<{
  url: string;
  wsUrl: string;
  user: string;
  pass: string;
  version: string;
  /** Where the program comes from, for people. */
  from: string;
  pid: number;
  /** Resolves with the reason and the last log lines when the server has ended, asked or not. */
  exited: Promise<string>;
  stop(): Promise<void>;
}>;

/** A port of 0 takes a free one. `ephemeral` (for tests) trades durability for speed and removes `dir` at the end. */
export type NatsOptions = Readonly<{
  dir: string;
  host: string;
  port: number;
  wsPort: number;
  ephemeral?: boolean;
  say: Say;
  signal?: AbortSignal;
}>;

type Ports = Readonly<{ nats: string; websocket: string }>;

const USER = 'annals';
const READY_WITHIN_MS = 60_000;

/**
 * Starts nats-server with JetStream on `dir`, fetching the program when there is none, and returns once it listens.
 *
 * May be called again on the same folder after a crash, with the ports of before, so that clients find it again.
 */
export async function startNats(options: NatsOptions): Promise<EmbeddedNats> {
  const { dir, host, port, wsPort, ephemeral = false, say, signal } = options;
  const program = await fetchNats({ say, ...(signal ? { signal } : {}) });
  await mkdir(path.join(dir, 'js'), { recursive: true, mode: 0o700 });
  await rm(path.join(dir, 'ports'), { recursive: true, force: true });
  await mkdir(path.join(dir, 'ports'));
  const pass = await keptPassword(path.join(dir, 'nats.pass'));
  const configFile = path.join(dir, 'nats.conf');
  await writeFile(configFile, natsConfig({ dir, host, port, wsPort, user: USER, pass, ephemeral }), { mode: 0o600 });

  const daemon = startDaemon({
    command: program.file,
    args: ['-c', configFile],
    logFile: path.join(dir, 'nats.log'),
    stopSignal: 'SIGTERM',
    removeAfterwards: ephemeral ? dir : undefined,
  });
  try {
    const { nats, websocket } = await untilReady(daemon, path.join(dir, 'ports'), signal);
    const { version, from } = program;
    const { pid, exited } = daemon;
    return { url: nats, wsUrl: websocket, user: USER, pass, version, from, pid, exited, stop: () => daemon.stop() };
  } catch (error) {
    await daemon.stop();
    throw error;
  }
}

/** The password of earlier starts, so that clients survive a restart of the server. */
async function keptPassword(file: string): Promise<string> {
  const kept = await readFile(file, 'utf8').catch(() => '');
  if (kept) return kept;
  const pass = randomBytes(24).toString('hex');
  await writeFile(file, pass, { mode: 0o600 });
  return pass;
}

async function untilReady(daemon: Daemon, folder: string, signal?: AbortSignal): Promise<Ports> {
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    signal?.throwIfAborted();
    const ports = await readPorts(folder);
    if (ports) return ports;
    if (daemon.hasExited()) throw new Error(`nats-server ${await daemon.exited}`);
    if (performance.now() > deadline) throw new Error('nats-server did not become ready');
    await pause(20);
  }
}

/** The server writes its addresses once it listens; a file that is still being written does not parse. */
async function readPorts(folder: string): Promise<Ports | undefined> {
  const name = (await readdir(folder)).find((file) => file.endsWith('.ports'));
  if (!name) return undefined;
  try {
    const found = JSON.parse(await readFile(path.join(folder, name), 'utf8')) as Partial<Record<keyof Ports, string[]>>;
    const [nats, websocket] = [found.nats?.[0], found.websocket?.[0]];
    return nats && websocket ? { nats, websocket } : undefined;
  } catch {
    return undefined;
  }
}
