import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type pg from 'pg';
import { AppError } from '../../kit/errors.ts';
import type { StoreConfig } from './settings.ts';
import { writeDurably } from './durable-file.ts';
import { isAlive } from './predecessor.ts';

/**
 * How the verbs of the command line find a running instance and its stores; holds secrets, so only its owner may read
 * it.
 */
export type Instance = Readonly<{
  pid: number;
  network: string;
  startedAt: string;
  urls: Readonly<Record<string, string>>;
  nats: Readonly<{ url: string; user?: string; pass?: string }>;
  postgres: pg.ClientConfig;
}>;

type Position = Pick<StoreConfig, 'dataDir' | 'network'>;

/** Folder of one network's data. */
export function dataFolder({ dataDir, network }: Readonly<{ dataDir: string; network: string }>): string {
  return path.resolve(dataDir, network);
}

const fileOf = (folder: string): string => path.join(folder, 'run.json');

/** Leaves word of this process in the network's folder; returns what takes it away again. */
export async function announce(config: Position, instance: Instance): Promise<() => Promise<void>> {
  const folder = dataFolder(config);
  const file = fileOf(folder);
  await mkdir(folder, { recursive: true });
  await rm(file, { force: true });
  await writeDurably(file, `${JSON.stringify(instance, null, 2)}\n`);
  return () => rm(file, { force: true });
}

/** Fails with `UNAVAILABLE` and names the command that starts one. */
export async function findInstance(config: Position): Promise<Instance> {
  const own = await readInstance(dataFolder(config));
  if (own) return own;
  const folders = await readdir(config.dataDir).catch(() => []);
  const others = await Promise.all(folders.map((name) => readInstance(path.resolve(config.dataDir, name))));
  const [only, another] = others.filter((one) => one !== undefined);
  if (only && !another) return only;
  const match = another
    ? 'several networks run there: name one with NETWORK'
    : 'start it with `npm start`, or name its folder with DATA_DIR';
  throw new AppError('UNAVAILABLE', `No running instance of network ${config.network} in ${config.dataDir}: ${match}`);
}

async function readInstance(folder: string): Promise<Instance | undefined> {
  const text = await readFile(fileOf(folder), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const instance = JSON.parse(text) as Instance;
  return isAlive(instance.pid) ? instance : undefined;
}
