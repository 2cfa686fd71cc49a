import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { wait } from '../../../kit/wait.ts';
import { isDataDamage, setAside } from '../aside.ts';
import { createPatience } from '../patience.ts';
import { type Report, whileSaying } from '../commands.ts';
import { AppError } from '../../../kit/errors.ts';
import { type Daemon } from '../daemon.ts';

/** Where a nats-server listens. */
export type Addresses = Readonly<{ url: string; wsUrl: string; monitorUrl: string }>;

/** The folder of each stream of ours lies here, in the folder of an embedded broker. */
export function streamsFolder(dir: string): string {
  return path.join(dir, 'js', 'jetstream', 'CORE', 'streams');
}

type Waiting = Readonly<{ host: string; say: Report; signal?: AbortSignal }>;

/** The server ended because of what lies in its folder. */
export class DamagedStore extends Error {}

/** Renames a damaged store, so that the next start makes an empty one. */
export async function setStoreAside(dir: string, report: Report): Promise<void> {
  await setAside(path.join(path.resolve(dir), 'js'), report);
}

/**
 * Waits until the server has reported its addresses. Fails with `DamagedStore` when it ends because of its data folder.
 */
export async function untilReady(daemon: Daemon, folder: string, { say, ...options }: Waiting): Promise<Addresses> {
  return await whileSaying(say, 'starting nats-server', () => addressesOf(daemon, folder, options));
}

async function addressesOf(daemon: Daemon, folder: string, { host, signal }: Omit<Waiting, 'say'>): Promise<Addresses> {
  const mayWait = createPatience(daemon.pid);
  for (;;) {
    signal?.throwIfAborted();
    const addresses = await readAddresses(folder, host);
    if (addresses) return addresses;
    if (daemon.hasExited()) throw endedBy(await daemon.exited);
    if (!mayWait()) throw notReady(daemon, folder);
    await wait(20);
  }
}

/** Nothing is renamed: this process cannot distinguish a damaged store from a slow disk. */
function notReady(daemon: Daemon, folder: string): AppError {
  const dir = path.dirname(folder);
  return new AppError(
    'UNAVAILABLE',
    `nats-server (process ${daemon.pid}) does not listen and does nothing. Read ${path.join(dir, 'nats.log')}; if its store is beyond help, ` +
      `move ${path.join(dir, 'js')} away and start again: what was in it comes back from the archive.`,
  );
}

function endedBy(lastWords: string): Error {
  const Failure = isDataDamage(lastWords) ? DamagedStore : Error;
  return new Failure(`nats-server ${lastWords}`);
}

/** The server writes its addresses once it listens; a file that is still being written does not parse. */
async function readAddresses(folder: string, host: string): Promise<Addresses | undefined> {
  const name = (await readdir(folder)).find((file) => file.endsWith('.ports'));
  if (!name) return undefined;
  const text = await readFile(path.join(folder, name), 'utf8');
  let match: Partial<Record<'nats' | 'websocket' | 'monitoring', string[]>>;
  try {
    match = JSON.parse(text) as typeof match;
  } catch {
    return undefined;
  }
  const [nats, websocket, monitoring] = [match.nats?.[0], match.websocket?.[0], match.monitoring?.[0]];
  if (!nats || !websocket || !monitoring) return undefined;
  return { url: reachable(nats, host), wsUrl: reachable(websocket, host), monitorUrl: monitoring };
}

/** Where every interface is listened on, the server names one of them; from here it is reached over loopback. */
function reachable(address: string, host: string): string {
  if (!['0.0.0.0', '::'].includes(host)) return address;
  const { protocol, port } = new URL(address);
  return `${protocol}//127.0.0.1:${port}`;
}
