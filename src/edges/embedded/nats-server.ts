import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Say } from './commands.ts';
import { startDaemon, type Daemon } from './daemon.ts';
import { fetchNats } from './fetch-nats.ts';
import { natsConfig } from './nats-config.ts';
import { keptPassword } from './nats-password.ts';
import { endPredecessor, rememberServer } from './predecessor.ts';
import { whileSaying } from './slow.ts';

/** A nats-server of our own; `user` and `pass` are for ourselves, outsiders connect without. */
export type EmbeddedNats = Readonly<{
  url: string;
  wsUrl: string;
  /** The server's own monitoring (`/varz` and so on), on loopback only and on another port after each start. */
  monitorUrl: string;
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

type Addresses = Readonly<{ url: string; wsUrl: string; monitorUrl: string }>;

const USER = 'annals';
const READY_WITHIN_MS = 60_000;

/**
 * Starts nats-server with JetStream on `dir`, fetching the program when there is none, and returns once it listens.
 *
 * May be called again on the same folder after a crash, with the ports of before, so that clients find it again. The
 * caller holds the folder's lock (`lockDir`).
 */
export async function startNats(options: NatsOptions): Promise<EmbeddedNats> {
  const { say, signal, ephemeral = false } = options;
  const dir = path.resolve(options.dir);
  const program = await fetchNats({ say, signal });
  const inside = (name: string) => path.join(dir, name);
  const [configFile, pidFile, ports] = [inside('nats.conf'), inside('nats.pid'), inside('ports')] as const;
  await mkdir(inside('js'), { recursive: true, mode: 0o700 });
  await endPredecessor(pidFile, configFile, 'SIGTERM');
  await rm(ports, { recursive: true, force: true });
  await mkdir(ports);
  const pass = await keptPassword(inside('nats.pass'));
  await writeFile(configFile, natsConfig({ ...options, dir, user: USER, pass, ephemeral }), { mode: 0o600 });

  const daemon = startDaemon({
    command: program.file,
    args: ['-c', configFile],
    logFile: inside('nats.log'),
    stopSignal: 'SIGTERM',
    removeAfterwards: ephemeral ? dir : undefined,
  });
  try {
    await rememberServer(pidFile, daemon.pid);
    const addresses = await whileSaying(say, 'starting nats-server', () => untilReady(daemon, ports, options));
    const { version, from } = program;
    const { pid, exited, stop } = daemon;
    return { ...addresses, user: USER, pass, version, from, pid, exited, stop };
  } catch (error) {
    await daemon.stop();
    throw error;
  }
}

async function untilReady(daemon: Daemon, folder: string, { host, signal }: NatsOptions): Promise<Addresses> {
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    signal?.throwIfAborted();
    const addresses = await readAddresses(folder, host);
    if (addresses) return addresses;
    if (daemon.hasExited()) throw new Error(`nats-server ${await daemon.exited}`);
    if (performance.now() > deadline) throw new Error('nats-server did not become ready');
    await pause(20);
  }
}

/** The server writes its addresses once it listens; a file that is still being written does not parse. */
async function readAddresses(folder: string, host: string): Promise<Addresses | undefined> {
  const name = (await readdir(folder)).find((file) => file.endsWith('.ports'));
  if (!name) return undefined;
  const text = await readFile(path.join(folder, name), 'utf8');
  let found: Partial<Record<'nats' | 'websocket' | 'monitoring', string[]>>;
  try {
    found = JSON.parse(text) as typeof found;
  } catch {
    return undefined;
  }
  const [nats, websocket, monitoring] = [found.nats?.[0], found.websocket?.[0], found.monitoring?.[0]];
  if (!nats || !websocket || !monitoring) return undefined;
  return { url: reachable(nats, host), wsUrl: reachable(websocket, host), monitorUrl: monitoring };
}

/** Where every interface is listened on, the server names one of them; from here it is reached over loopback. */
function reachable(address: string, host: string): string {
  if (!['0.0.0.0', '::', '[::]'].includes(host)) return address;
  const { protocol, port } = new URL(address);
  return `${protocol}//127.0.0.1:${port}`;
}
