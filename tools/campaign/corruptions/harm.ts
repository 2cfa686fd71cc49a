import { readdirSync, rmSync, statSync, truncateSync, openSync, readSync, writeSync, closeSync } from 'node:fs';
import path from 'node:path';
import type { Random } from '../../../test/support/random-history.ts';

/** The two stores of a local instance. */
export const stores = ['nats', 'db'] as const;
export type Store = (typeof stores)[number];

/** What is done to a file. */
export const harms = ['flip', 'cut', 'delete'] as const;
export type Harm = (typeof harms)[number];

/** Where the data of a store lie in the network's folder; logs, sockets and configuration that each start writes anew are no data. */
const folderOf = { nats: path.join('nats', 'js'), db: path.join('db', 'pg18') } as const satisfies Record<
  Store,
  string
>;
const written = /postmaster\.(pid|opts)$|\.(conf|lock)$|pgsql_tmp/;

/**
 * Damages one file of a store, and says what was done.
 *
 * Half of the time it is one that holds events or rows, otherwise any file that is not empty.
 */
export function harm(folder: string, store: Store, what: Harm, random: Random): string {
  const root = path.join(folder, folderOf[store]);
  const all = filesIn(root).filter((file) => !written.test(file) && sizeOf(path.join(root, file)) > 0);
  const content = all.filter((file) => /\.blk$|^base\/(?!1\/|4\/|5\/)/.test(file));
  const [first = '', ...rest] = random.chance(0.5) && content.length > 0 ? content : all;
  const file = random.pick([first, ...rest]);
  const target = path.join(root, file);
  const size = sizeOf(target);
  if (what === 'delete') {
    rmSync(target);
    return `${store} delete ${file}`;
  }
  const at = random.below(size);
  if (what === 'cut') {
    truncateSync(target, at);
    return `${store} cut ${file} from ${size} to ${at}`;
  }
  const bit = 1 << random.below(8);
  flip(target, at, bit);
  return `${store} flip ${file} at ${at} of ${size}`;
}

function flip(file: string, at: number, bit: number): void {
  const handle = openSync(file, 'r+');
  const byte = Buffer.alloc(1);
  readSync(handle, byte, 0, 1, at);
  byte.writeUInt8(byte.readUInt8() ^ bit);
  writeSync(handle, byte, 0, 1, at);
  closeSync(handle);
}

function filesIn(root: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .toSorted();
}

function sizeOf(file: string): number {
  try {
    return statSync(file).size;
  } catch {
    return 0;
  }
}
