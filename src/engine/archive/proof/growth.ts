import { hashBytes } from './merkle.ts';
import { foldHashes, leavesOf, tileWidth } from './tiles.ts';

const tileBytes = tileWidth * hashBytes;

/**
 * The right edge of a stored tree: for each level of tiles how many hashes it has, and those of its last tile while
 * that is not full. Level 0 has entries as they are stored, every other one hashes of nodes.
 */
export type TreeEdge = readonly Readonly<{ count: number; partial: Uint8Array }>[];

/** Hashes of a level of tiles, from the `first`-th on. */
export type HashRun = Readonly<{ level: number; first: number; hashes: Uint8Array }>;

/** What entries change: tiles that are full now, what the tiles behind them gain, and the new edge. */
export type Growth = Readonly<{ full: readonly HashRun[]; begun: readonly HashRun[]; edge: TreeEdge }>;

/** The edge of a tree without leaves. */
export const emptyEdge: TreeEdge = [];

/**
 * Adds entries, one after the other in `stored`, at the end of a tree.
 *
 * A tree depends on its entries alone, not on how they are cut: adding them again gives the same tiles.
 */
export function growTree(before: TreeEdge, stored: Uint8Array): Growth {
  const full: HashRun[] = [];
  const started: HashRun[] = [];
  const edge = [...before];
  for (let [level, added] = [0, stored]; added.length > 0; level += 1) {
    const { count, partial } = edge[level] ?? { count: 0, partial: new Uint8Array() };
    const grown = growLevel({
      level,
      first: count - partial.length / hashBytes,
      hashes: Buffer.concat([partial, added]),
    });
    full.push(...grown.full);
    const rest = grown.rest.hashes;
    // Only the new part of a tile that was partly filled before.
    const news = grown.full.length > 0 ? 0 : partial.length;
    if (rest.length > news)
      started.push({ level, first: grown.rest.first + news / hashBytes, hashes: rest.subarray(news) });
    edge[level] = { count: count + added.length / hashBytes, partial: Uint8Array.from(rest) };
    const roots = grown.full.map(({ hashes }) => foldHashes(level === 0 ? leavesOf(hashes) : hashes));
    added = Buffer.concat(roots);
  }
  return { full, begun: started, edge };
}

/** Cuts hashes that start with a tile into full tiles and the rest. */
function growLevel({ level, first, hashes }: HashRun): Readonly<{ full: HashRun[]; rest: HashRun }> {
  const count = Math.floor(hashes.length / tileBytes);
  const full = Array.from({ length: count }, (_, at) => ({
    level,
    first: first + at * tileWidth,
    hashes: hashes.subarray(at * tileBytes, (at + 1) * tileBytes),
  }));
  return { full, rest: { level, first: first + count * tileWidth, hashes: hashes.subarray(count * tileBytes) } };
}
