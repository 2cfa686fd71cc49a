import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Report } from '../commands.ts';
import { startDaemon } from '../daemon.ts';
import { repairSequences } from './damaged-sequences.ts';
import { fetchNats } from './fetch-nats.ts';
import { DamagedStore, setStoreAside, streamsFolder, untilReady } from './nats-addresses.ts';
import { natsConfig } from './nats-config.ts';
import { writeDurably } from '../durable-file.ts';
import { endPredecessor, rememberServer } from '../predecessor.ts';

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
  /** Resolves with the reason and the last log lines when the server has ended, requested or not. */
  exited: Promise<string>;
  stop(): Promise<void>;
  /** Kills the server without a request to stop. */
  kill(): Promise<void>;
}>;

/** A port of 0 takes a free one. `ephemeral` (for tests) trades durability for speed and removes `dir` at the end. */
export type NatsServerOptions = Readonly<{
  dir: string;
  host: string;
  port: number;
  wsPort: number;
  ephemeral?: boolean;
  /** Is called before a damaged store is renamed; where it returns false, the start fails. */
  mayReplace?: () => boolean;
  say: Report;
  signal?: AbortSignal;
}>;

const USER = 'annals';

/**
 * Starts nats-server with JetStream on `dir`, fetching the program when there is none, and returns once it listens.
 *
 * A store that the server itself reports as damaged is renamed; the archive holds its contents. May be called again on
 * the same folder after a crash, with the ports of before, so that clients find it again. The caller holds the folder's
 * lock (`lockDir`).
 */
export async function startNats(options: NatsServerOptions): Promise<EmbeddedNats> {
  try {
    return await startOnce(options);
  } catch (caught) {
    if (!(caught instanceof DamagedStore) || !(options.mayReplace?.() ?? true)) throw caught;
    options.say(caught.message);
    await setStoreAside(options.dir, options.say);
    return await startOnce(options);
  }
}

async function startOnce(options: NatsServerOptions): Promise<EmbeddedNats> {
  const { say, signal, ephemeral = false } = options;
  const dir = path.resolve(options.dir);
  const program = await fetchNats({ say, signal });
  const inside = (name: string) => path.join(dir, name);
  const [configFile, pidFile, ports] = [inside('nats.conf'), inside('nats.pid'), inside('ports')] as const;
  await mkdir(inside('js'), { recursive: true, mode: 0o700 });
  await endPredecessor(pidFile, configFile, 'SIGTERM');
  await rm(ports, { recursive: true, force: true });
  await mkdir(ports);
  const pass = await persistentPassword(inside('nats.pass'));
  await repairSequences(streamsFolder(dir), say);
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
    const addresses = await untilReady(daemon, ports, options);
    const { version, from } = program;
    const { pid, exited, stop, kill } = daemon;
    return { ...addresses, user: USER, pass, version, from, pid, exited, stop, kill };
  } catch (error) {
    await daemon.stop();
    throw error;
  }
}

/** The password of earlier starts, so that clients survive a restart of the server; a new one where there is none. */
async function persistentPassword(file: string): Promise<string> {
  const stored = await readFile(file, 'utf8').catch(() => '');
  if (stored) return stored;
  const pass = randomBytes(24).toString('hex');
  await writeDurably(file, pass);
  return pass;
}
