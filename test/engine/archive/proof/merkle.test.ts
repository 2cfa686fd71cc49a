import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkConsistency, checkInclusion } from '../../../../src/edges/http/pages/public/verify.js';
import {
  consistencyRanges,
  emptyRoot,
  type HashReader,
  inclusionRanges,
  leafHash,
  nodeHash,
  rangeHash,
} from '../../../../src/engine/archive/proof/merkle.ts';
import { naiveConsistency, naivePath, naiveRoot } from './naive-tree.ts';

/** The leaves and roots that implementations of RFC 6962 publish as test vectors. */
const publishedLeaves = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
].map((hex) => Buffer.from(hex, 'hex'));
const publishedRoots = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Reads subtrees straight from leaves. */
function reading(leaves: readonly Uint8Array[]): HashReader {
  const read: HashReader = async ({ level, index }) => {
    const leaf = leaves[index];
    if (level === 0) return leafHash(leaf ?? Buffer.alloc(0));
    const below = { level: level - 1, index: 2 * index };
    return nodeHash(await read(below), await read({ ...below, index: 2 * index + 1 }));
  };
  return read;
}

const entries = (count: number): Buffer[] =>
  Array.from({ length: count }, (_, at) => createHash('sha256').update(`event ${at}`).digest());

const hashesOf = (ranges: readonly Readonly<{ start: number; end: number }>[], leaves: readonly Uint8Array[]) =>
  Promise.all(ranges.map((range) => rangeHash(range, reading(leaves))));

describe('rangeHash', () => {
  it('gives the published roots of RFC 6962 trees', async () => {
    const roots = await Promise.all(
      publishedRoots.map((_, size) => rangeHash({ start: 0, end: size }, reading(publishedLeaves))),
    );
    expect(roots.map(hex)).toEqual(publishedRoots);
    expect(hex(emptyRoot)).toBe(publishedRoots[0]);
  });
});

describe('inclusionRanges and consistencyRanges', () => {
  it('name the nodes of the example in RFC 6962, 2.1.3', () => {
    const range = (start: number, end: number): object => ({ start, end });
    expect(inclusionRanges(0, 7)).toEqual([range(1, 2), range(2, 4), range(4, 7)]);
    expect(inclusionRanges(3, 7)).toEqual([range(2, 3), range(0, 2), range(4, 7)]);
    expect(inclusionRanges(4, 7)).toEqual([range(5, 6), range(6, 7), range(0, 4)]);
    expect(inclusionRanges(6, 7)).toEqual([range(4, 6), range(0, 4)]);
    expect(consistencyRanges(3, 7)).toEqual([range(2, 3), range(3, 4), range(0, 2), range(4, 7)]);
    expect(consistencyRanges(4, 7)).toEqual([range(4, 7)]);
    expect(consistencyRanges(6, 7)).toEqual([range(4, 6), range(6, 7), range(0, 4)]);
  });

  it('give the hashes of the recursive definitions, and the verifier accepts them', async () => {
    const size = fc.integer({ min: 1, max: 300 });
    const at = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    const run = async (count: number, where: number): Promise<void> => {
      const leaves = entries(count);
      const index = Math.floor(where * count);
      const old = index + 1;
      const [root, oldRoot] = [naiveRoot(leaves), naiveRoot(leaves.slice(0, old))];
      const path = await hashesOf(inclusionRanges(index, count), leaves);
      expect(path.map(hex)).toEqual(naivePath(index, leaves).map(hex));
      const entry = leaves[index] ?? Buffer.alloc(0);
      await checkInclusion({ entry, index, hashes: path, size: count, root });
      const proof = await hashesOf(consistencyRanges(old, count), leaves);
      expect(proof.map(hex)).toEqual(naiveConsistency(old, leaves).map(hex));
      await checkConsistency({ old, size: count, oldRoot, root, hashes: proof });
    };
    await fc.assert(fc.asyncProperty(size, at, run), { numRuns: 60 });
  });
});

describe('the verifier', () => {
  it('refuses another entry, index, size, root, and a proof that was changed, cut or prolonged', async () => {
    const leaves = entries(37);
    const other = createHash('sha256').update('other').digest();
    const sound = {
      entry: leaves[20] ?? other,
      index: 20,
      size: 37,
      root: naiveRoot(leaves),
      hashes: naivePath(20, leaves) as Uint8Array[],
    };
    await checkInclusion(sound);
    const wrong = [
      { entry: other },
      { index: 21 },
      { index: 37 },
      { index: -1 },
      { size: 16 },
      { size: 70 },
      { root: other },
      { hashes: sound.hashes.slice(1) },
      { hashes: [...sound.hashes, other] },
      ...sound.hashes.map((_, at) => ({ hashes: sound.hashes.with(at, other) })),
    ];
    for (const change of wrong) await expect(checkInclusion({ ...sound, ...change })).rejects.toThrow(/proof|leaves/);
  });

  it('refuses trees that do not continue one another', async () => {
    const leaves = entries(37);
    const other = createHash('sha256').update('other').digest();
    for (const old of [16, 20]) {
      const sound = {
        old,
        size: 37,
        oldRoot: naiveRoot(leaves.slice(0, old)),
        root: naiveRoot(leaves),
        hashes: naiveConsistency(old, leaves) as Uint8Array[],
      };
      await checkConsistency(sound);
      const wrong = [
        { old: old + 1 },
        { old: 38 },
        { old: 37 },
        { oldRoot: other },
        { root: other },
        { hashes: [] },
        { hashes: sound.hashes.slice(1) },
        { hashes: [...sound.hashes, other] },
        ...sound.hashes.map((_, at) => ({ hashes: sound.hashes.with(at, other) })),
      ];
      for (const change of wrong) await expect(checkConsistency({ ...sound, ...change })).rejects.toThrow(/./);
    }
    const same = { old: 37, size: 37, oldRoot: other, root: naiveRoot(leaves), hashes: [] };
    await expect(checkConsistency(same)).rejects.toThrow('different roots');
  });
});
