import { hashBytes, type HashReader, leafHash, nodeHash } from './merkle.ts';

/** Hashes of a full tile; a tile is eight levels of the tree (C2SP tlog-tiles). */
export const tileWidth = 256;
const levelsPerTile = 8;

/**
 * One tile: hashes `index * 256` and on of level `8 * level` of the tree, `width` of them. Level `entries` has the
 * entries themselves.
 */
export type TileName = Readonly<{ level: number | 'entries'; index: number; width: number }>;

/** Reads the hashes of a tile, one after the other. */
export type TileReader = (tile: TileName & Readonly<{ level: number }>) => Promise<Uint8Array>;

/** The path of a tile, such as `tile/0/x001/x234/067` or `tile/entries/000.p/17`. */
export function tilePath({ level, index, width }: TileName): string {
  const groups = [index % 1000];
  for (let rest = Math.floor(index / 1000); rest > 0; rest = Math.floor(rest / 1000)) groups.unshift(rest % 1000);
  const digits = groups.map((group, at) => `${at < groups.length - 1 ? 'x' : ''}${String(group).padStart(3, '0')}`);
  return `tile/${level}/${digits.join('/')}${width === tileWidth ? '' : `.p/${width}`}`;
}

const highestLevel = 63;
const form = /^tile\/(entries|0|[1-9]\d?)\/((?:x\d{3}\/){0,4}\d{3})(?:\.p\/([1-9]\d{0,2}))?$/;

/** The tile at a path; undefined where `tilePath` would not produce the path. */
export function parseTilePath(path: string): TileName | undefined {
  const [, levelText, digits, widthText] = form.exec(path) ?? [];
  if (levelText === undefined || digits === undefined) return undefined;
  const level = levelText === 'entries' ? 'entries' : Number(levelText);
  const tile: TileName = {
    level,
    index: Number(digits.replaceAll(/[x/]/g, '')),
    width: Number(widthText ?? tileWidth),
  };
  const isPossible = (level === 'entries' || level <= highestLevel) && Number.isSafeInteger(tile.index);
  return isPossible && tilePath(tile) === path ? tile : undefined;
}

/** How many hashes of a tile a tree of `size` leaves has; 0 where it has none of it. */
export function widthIn(size: number, { level, index }: Pick<TileName, 'level' | 'index'>): number {
  const hashes = Math.floor(size / tileWidth ** (level === 'entries' ? 0 : level));
  return Math.max(0, Math.min(tileWidth, hashes - index * tileWidth));
}

/** Reads hashes of subtrees from the tiles of a tree with `size` leaves. */
export function readingTiles(size: number, read: TileReader): HashReader {
  return async ({ level, index }) => {
    const inTile = level % levelsPerTile;
    const tile = { level: (level - inTile) / levelsPerTile, index: Math.floor(index / 2 ** (levelsPerTile - inTile)) };
    const hashes = await read({ ...tile, width: widthIn(size, tile) });
    const first = (index % 2 ** (levelsPerTile - inTile)) * 2 ** inTile;
    return foldHashes(hashes.subarray(first * hashBytes, (first + 2 ** inTile) * hashBytes));
  };
}

/** The root of a complete subtree from the hashes of its lowest level, a power of two of them. */
export function foldHashes(hashes: Uint8Array): Uint8Array {
  let level = hashes;
  while (level.length > hashBytes) {
    const above = new Uint8Array(level.length / 2);
    for (let at = 0; at < above.length; at += hashBytes)
      above.set(
        nodeHash(level.subarray(2 * at, 2 * at + hashBytes), level.subarray(2 * at + hashBytes, 2 * (at + hashBytes))),
        at,
      );
    level = above;
  }
  return level;
}

/** An entry of which nothing is known, as it is stored; no event has this hash. */
export const unknownEntry: Uint8Array = new Uint8Array(hashBytes);

const isUnknown = (entry: Uint8Array): boolean => Buffer.compare(entry, unknownEntry) === 0;

/** The entries that stored bytes hold: empty where nothing is known of an event. */
export function* entriesIn(stored: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < stored.length; at += hashBytes) {
    const entry = stored.subarray(at, at + hashBytes);
    yield isUnknown(entry) ? entry.subarray(0, 0) : entry;
  }
}

/** Hashes of the leaves whose entries are stored so. */
export function leavesOf(stored: Uint8Array): Uint8Array {
  return Buffer.concat([...entriesIn(stored)].map(leafHash));
}

/** An entry bundle as it is served: before each entry its length, big-endian in two bytes. */
export function bundleOf(stored: Uint8Array): Uint8Array {
  return Buffer.concat([...entriesIn(stored)].flatMap((entry) => [Buffer.of(0, entry.length), entry]));
}
