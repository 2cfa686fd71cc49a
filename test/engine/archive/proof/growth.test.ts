import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyEdge, growTree, type HashRun, type TreeEdge } from '../../../../src/engine/archive/proof/growth.ts';
import { rangeHash } from '../../../../src/engine/archive/proof/merkle.ts';
import { leavesOf, readingTiles } from '../../../../src/engine/archive/proof/tiles.ts';
import { naiveRoot } from './naive-tree.ts';

const entries = (count: number): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, at) => createHash('sha256').update(`event ${at}`).digest()));

/** All hashes that were written of a tree, by level and place, as a table holds them. */
type Stored = Map<number, Uint8Array[]>;

/** Writes runs; each hash is written again where its tile becomes full, and is the same then. */
function write(stored: Stored, runs: readonly HashRun[]): void {
  for (const { level, first, hashes } of runs) {
    const all = stored.get(level) ?? [];
    stored.set(level, all);
    for (let at = 0; at < hashes.length / 32; at += 1) {
      const hash = hashes.slice(at * 32, at * 32 + 32);
      if (first + at < all.length) expect(Buffer.compare(all[first + at] ?? hash, hash)).toBe(0);
      else expect(first + at, 'a hash is missing before this one').toBe(all.length);
      all[first + at] = hash;
    }
  }
}

/** Grows a tree from nothing by pieces that end at some sizes. */
function grown(all: Uint8Array, ends: readonly number[]): { stored: Stored; edge: TreeEdge } {
  const stored: Stored = new Map();
  let edge = emptyEdge;
  let from = 0;
  for (const end of ends) {
    const growth = growTree(edge, all.subarray(from * 32, end * 32));
    write(stored, growth.full);
    write(stored, growth.begun);
    ({ edge } = growth);
    from = end;
  }
  return { stored, edge };
}

/** The root of a stored tree, read as tiles. */
async function rootOf(stored: Stored, size: number): Promise<string> {
  const read = readingTiles(size, async ({ level, index, width }) => {
    const hashes = Buffer.concat((stored.get(level) ?? []).slice(index * 256, index * 256 + width));
    return level === 0 ? leavesOf(hashes) : hashes;
  });
  return Buffer.from(await rangeHash({ start: 0, end: size }, read)).toString('hex');
}

const expected = (all: Uint8Array, size: number): string =>
  naiveRoot(Array.from({ length: size }, (_, at) => all.subarray(at * 32, at * 32 + 32))).toString('hex');

describe('growTree', () => {
  it('stores the same tree however its entries are cut, with the root of the definition', async () => {
    const all = entries(1500);
    const ends = fc.uniqueArray(fc.integer({ min: 1, max: 1500 }), { minLength: 1, maxLength: 12 });
    const run = async (cuts: readonly number[]): Promise<void> => {
      const sorted = cuts.toSorted((a, b) => a - b);
      const size = sorted.at(-1) ?? 0;
      const [cut, once] = [grown(all, sorted), grown(all, [size])];
      expect(cut).toEqual(once);
      expect(await rootOf(cut.stored, size)).toBe(expected(all, size));
    };
    await fc.assert(fc.asyncProperty(ends, run), { numRuns: 15 });
  });

  it('fills tiles of every level', async () => {
    const all = entries(66_000);
    const { stored, edge } = grown(all, [1, 255, 256, 257, 40_000, 65_535, 65_536, 66_000]);
    expect(edge.map(({ count, partial }) => [count, partial.length / 32])).toEqual([
      [66_000, 66_000 % 256],
      [257, 1],
      [1, 1],
    ]);
    expect(await rootOf(stored, 66_000)).toBe(expected(all, 66_000));
  });

  it('changes nothing where nothing is added', () => {
    const { edge } = grown(entries(300), [300]);
    expect(growTree(edge, new Uint8Array())).toEqual({ full: [], begun: [], edge });
  });
});
