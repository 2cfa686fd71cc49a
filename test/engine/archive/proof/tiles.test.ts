import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rangeHash } from '../../../../src/engine/archive/proof/merkle.ts';
import {
  bundleOf,
  foldHashes,
  leavesOf,
  parseTilePath,
  readingTiles,
  tilePath,
  type TileReader,
  tileWidth,
  unknownEntry,
  widthIn,
} from '../../../../src/engine/archive/proof/tiles.ts';
import { naiveRoot } from './naive-tree.ts';

const entries = (count: number): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, at) => createHash('sha256').update(`event ${at}`).digest()));

/** Tiles of a tree that is held as a whole. */
function tilesOf(stored: Uint8Array): TileReader {
  const levels = [leavesOf(stored)];
  const level = (number: number): Uint8Array => {
    const known = levels[number];
    if (known) return known;
    const below = level(number - 1);
    const full = Math.floor(below.length / (32 * tileWidth));
    const above = Array.from({ length: full }, (_, at) => foldHashes(below.subarray(at * 8192, (at + 1) * 8192)));
    return (levels[number] = Buffer.concat(above));
  };
  return async (tile) => {
    const hashes = level(tile.level).subarray(tile.index * 8192, (tile.index * tileWidth + tile.width) * 32);
    expect(hashes.length, 'a tile was asked for that the tree does not have').toBe(tile.width * 32);
    return hashes;
  };
}

describe('tilePath', () => {
  it('writes the paths of C2SP tlog-tiles', () => {
    expect(tilePath({ level: 0, index: 0, width: 256 })).toBe('tile/0/000');
    expect(tilePath({ level: 0, index: 1_234_067, width: 256 })).toBe('tile/0/x001/x234/067');
    expect(tilePath({ level: 1, index: 1000, width: 17 })).toBe('tile/1/x001/000.p/17');
    expect(tilePath({ level: 'entries', index: 273, width: 112 })).toBe('tile/entries/273.p/112');
  });

  it('is what parseTilePath reads, and nothing else is', () => {
    const level = fc.oneof(fc.constant('entries' as const), fc.integer({ min: 0, max: 63 }));
    const tile = fc.record({
      level,
      index: fc.maxSafeNat().map((at) => at % 1e15),
      width: fc.integer({ min: 1, max: 256 }),
    });
    fc.assert(
      fc.property(tile, (one) => {
        expect(parseTilePath(tilePath(one))).toEqual(one);
      }),
    );
    const wrong = ['tile/0/0', 'tile/0/1000', 'tile/64/000', 'tile/00/000', 'tile/0/x000/001', 'tile/0/000.p/256'];
    const odd = ['tile/0/000.p/0', 'tile/0/000.p/007', 'tile/-1/000', 'tile/0/001/002', 'tile/0/x001', 'tile/entries/'];
    expect([...wrong, ...odd].map(parseTilePath)).toEqual(Array.from({ length: 12 }, () => undefined));
  });
});

describe('readingTiles', () => {
  it('gives the root of every size from tiles, full and partial', async () => {
    const sizes = [1, 2, 255, 256, 257, 511, 512, 513, 1000, 66_000];
    const all = entries(66_000);
    const tiles = tilesOf(all);
    for (const size of sizes) {
      const root = await rangeHash({ start: 0, end: size }, readingTiles(size, tiles));
      const leaves = Array.from({ length: size }, (_, at) => all.subarray(at * 32, at * 32 + 32));
      expect(Buffer.from(root).toString('hex'), `${size} leaves`).toBe(naiveRoot(leaves).toString('hex'));
    }
  });

  it('knows how much of a tile a tree has', () => {
    expect(widthIn(70_000, { level: 'entries', index: 273 })).toBe(112);
    expect(widthIn(70_000, { level: 0, index: 273 })).toBe(112);
    expect(widthIn(70_000, { level: 0, index: 274 })).toBe(0);
    expect(widthIn(70_000, { level: 1, index: 1 })).toBe(17);
    expect(widthIn(70_000, { level: 2, index: 0 })).toBe(1);
    expect(widthIn(70_000, { level: 3, index: 0 })).toBe(0);
  });
});

describe('bundleOf', () => {
  it('has each entry after its length, and an empty one where nothing is known of an event', () => {
    const [known] = [entries(1)];
    const stored = Buffer.concat([known, unknownEntry]);
    expect(bundleOf(stored)).toEqual(Buffer.concat([Buffer.of(0, 32), known, Buffer.of(0, 0)]));
    const empty = createHash('sha256').update(Buffer.of(0)).digest();
    expect(Buffer.from(leavesOf(stored).subarray(32))).toEqual(empty);
  });
});
