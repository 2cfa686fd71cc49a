import { readdirSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { flipBit } from '../kills/flip-bit.ts';
import type { Random } from '../histories/random-history.ts';

/** The two stores of a local instance. */
export const stores = ['nats', 'db'] as const;
export type Store = (typeof stores)[number];

/** What is done to a file. */
export const harms = ['flip', 'cut', 'delete'] as const;
export type Harm = (typeof harms)[number];

/** What to damage: in `live` only files that hold events or rows of ours; `tables` are those of the database. */
export type Aim = Readonly<{
  store: Store;
  kind: Harm;
  isLive: boolean;
  tables: readonly string[];
  /** Part of the path of the files to choose from, where not just any will do. */
  part?: string;
}>;

/**
 * Where the data of a store lie in the network's folder; logs, sockets and configuration that each start writes anew
 * are no data.
 */
const folderOf = { nats: path.join('nats', 'js'), db: path.join('db', 'pg18') } as const satisfies Record<
  Store,
  string
>;
const written = /postmaster\.(pid|opts)$|\.(conf|lock)$|pgsql_tmp/;
const events = /streams\/[A-Z]+_\w+\/msgs\/\d+\.blk$/;
const leases = /streams\/KV_/;
const pageBytes = 8192;
/** Of the flips in blocks of the broker, those that hit what tells the length, number, time and subject of a record. */
const headShare = 0.3;
const headBytes = 22;

/** Damages one file, and says what was done. A file is cut anywhere, or where a page of the database ends. */
export function harm(folder: string, { store, kind, isLive, tables, part = '' }: Aim, random: Random): string {
  const root = path.join(folder, folderOf[store]);
  const all = filesIn(root).filter(
    (file) => file.includes(part) && !written.test(file) && sizeOf(path.join(root, file)) > 0,
  );
  const isEvents = (file: string): boolean => events.test(file) && !leases.test(file);
  const live = all.filter((file) => (store === 'nats' ? isEvents(file) : tables.includes(file)));
  const [first = '', ...rest] = isLive && live.length > 0 ? live : all;
  const file = random.pick([first, ...rest]);
  const target = path.join(root, file);
  const size = sizeOf(target);
  const said = `${store} ${kind} ${file}`;
  if (kind === 'delete') {
    rmSync(target);
    return `${said} of ${size}`;
  }
  const isInHead = store === 'nats' && kind === 'flip' && file.endsWith('.blk') && random.chance(headShare);
  const inHead = (place: number): number => Math.min(headBefore(target, place) + random.below(headBytes), size - 1);
  const anywhere = isInHead ? inHead(random.below(size)) : random.below(size);
  if (kind === 'cut') {
    const at = store === 'db' && random.chance(0.3) ? anywhere - (anywhere % pageBytes) : anywhere;
    truncateSync(target, at);
    return `${said} from ${size} to ${at}`;
  }
  flipBit(target, anywhere, 1 << random.below(8));
  return `${said} at ${anywhere} of ${size}`;
}

/** Where the record begins that lies at a place; the beginning of a block whose records are compressed. */
function headBefore(file: string, place: number): number {
  const block = readFileSync(file);
  let at = 0;
  while (at + headBytes < block.length) {
    const next = at + (block.readUInt32LE(at) & 0x7fff_ffff);
    if (next === at || next > place) break;
    at = next;
  }
  return at;
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
