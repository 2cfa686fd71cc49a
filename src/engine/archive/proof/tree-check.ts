import type { StreamName } from '../../../events/streams.ts';
import { isSame, isSound, type Link } from '../chain.ts';
import { emptyEdge, growTree, type HashRun, type TreeEdge } from './growth.ts';
import { hashBytes, sha256 } from './merkle.ts';
import { tilePath, tileWidth } from './tiles.ts';
import { treeHashes, type Trees } from './trees.ts';

/** What a comparison of a stored tree found: hashes that differ, as they should be, and whether those are proven. */
export type TreeDamage = Readonly<{ runs: readonly HashRun[]; isProven: boolean }>;

const mostEntries = 16_384;

/**
 * Compares a stored tree with the rows of its archive, walked in their order, and every level with the one below.
 *
 * A row counts where its chain says that it is sound; the entry of one that was dropped is believed where the last
 * signed checkpoint follows from it.
 */
export class TreeCheck {
  readonly #trees: Trees;
  readonly #stream: StreamName;
  readonly #leaves: number;
  readonly #wrong: HashRun[] = [];
  #edge: TreeEdge = emptyEdge;
  #at = 0;

  constructor(trees: Trees, { stream, leaves }: Readonly<{ stream: StreamName; leaves: number }>) {
    this.#trees = trees;
    this.#stream = stream;
    this.#leaves = leaves;
  }

  /** Compares up to a sequence with the rows up to there. */
  async take(links: readonly Link[], upTo: number): Promise<void> {
    const end = Math.min(upTo, this.#leaves);
    while (this.#at < end) {
      const next = Math.min(end, this.#at + mostEntries);
      const entries = await this.#stored({ level: 0, first: this.#at, count: next - this.#at });
      for (const link of links) this.#correct(entries, link, next);
      const { full, edge } = growTree(this.#edge, entries);
      for (const run of full) await this.#compare(run);
      this.#edge = edge;
      this.#at = next;
    }
  }

  /** What was found once all was taken. */
  async end(): Promise<TreeDamage> {
    if (this.#at < this.#leaves) return { runs: [], isProven: true };
    for (const [level, { count, partial }] of this.#edge.entries())
      if (partial.length > 0)
        await this.#compare({ level, first: count - partial.length / hashBytes, hashes: partial });
    return { runs: this.#wrong, isProven: await this.#isProven() };
  }

  #correct(entries: Uint8Array, link: Link, next: number): void {
    if (link.sequence <= this.#at || link.sequence > next) return;
    const position = (link.sequence - this.#at - 1) * hashBytes;
    const entry = sha256(link.body);
    const isRight = isSame(entries.subarray(position, position + hashBytes), entry);
    if (!isRight && isSound(this.#stream, link)) entries.set(entry, position);
  }

  async #compare(run: HashRun): Promise<void> {
    const stored = await this.#stored({ ...run, count: run.hashes.length / hashBytes });
    if (!isSame(stored, run.hashes)) this.#wrong.push(run);
  }

  /** Hashes of a level as they are stored; zeros where there are none. */
  async #stored({ level, first, count }: Readonly<{ level: number; first: number; count: number }>) {
    const from = Math.floor(first / tileWidth);
    const until = Math.ceil((first + count) / tileWidth);
    const hashes = await this.#trees.tiles(this.#stream, { level, from, until });
    const start = (first - from * tileWidth) * hashBytes;
    const all = new Uint8Array(count * hashBytes);
    all.set(hashes.subarray(start, start + all.length));
    return all;
  }

  /** Whether the tree, with what is wrong in it put right, is the one that was signed. */
  async #isProven(): Promise<boolean> {
    const signed = await this.#trees.signed(this.#stream);
    if (!signed || signed.size === 0 || signed.size > this.#leaves) return true;
    const right = new Map(this.#wrong.map((run) => [keyOf(run.level, Math.floor(run.first / tileWidth)), run.hashes]));
    const corrected: Pick<Trees, 'tile'> = {
      tile: async (stream, { level, index }) =>
        right.get(keyOf(level, index)) ?? (await this.#trees.tile(stream, { level, index })),
    };
    const root = await treeHashes(
      corrected,
      this.#stream,
      signed.size,
    )({ start: 0, end: signed.size }).catch(() => undefined);
    return root !== undefined && isSame(root, signed.root);
  }
}

const keyOf = (level: number, index: number): string => `${level}/${index}`;

/** The tiles of a tree that are damaged, by path; `tile/0/` has the entries. */
export function damagedTiles({ runs, isProven }: TreeDamage): string[] {
  const paths = runs.map(({ level, first }) =>
    tilePath({ level, index: Math.floor(first / tileWidth), width: tileWidth }),
  );
  return isProven ? paths : [...paths, notSigned];
}

/** In place of a path: the tree leads to another root than the one that was signed. */
export const notSigned = 'not the signed tree';
