import { type Extent, groupsOf } from './extent-groups.ts';
import { idsPerBlock } from './height-extents.ts';

/** Heights from one on up to another, both included. */
export type Heights = Readonly<{ from: number; to: number }>;

/**
 * A bound on heights: the blocks' extents, the heights that match, and whether an unknown height is beyond all others
 * or never matches.
 */
export type Bound = Readonly<{ extents: readonly Extent[]; heights: Heights; unknownIsLast: boolean }>;

/** Ids from one on, up to but without another; decimal text. */
export type Ids = Readonly<{ low: string; high: string }>;

/** Blocks of ids from one to another, both included. */
export type Blocks = Readonly<{ first: bigint; last: bigint }>;

/**
 * The ids that can be within bounds.
 *
 * - `whole`: every action of these blocks matches, and counters hold how many there are.
 * - `inner`: every action of these ids matches, but no counter is as small as they are.
 * - `parts`: some actions of these ids may match, so that each row's heights have to be compared.
 *
 * No id is in two of them; `ids` holds them all.
 */
export type IdRanges = Readonly<{ ids: Ids; whole: readonly Blocks[]; inner: readonly Ids[]; parts: readonly Ids[] }>;

type Fit = 'none' | 'part' | 'all';

/** Where counters are of single blocks, blocks are skipped in groups of this many all the same. */
const skipped = 16n;

/**
 * Returns the ids that can be within all bounds; `span` is how many blocks the smallest counter has.
 *
 * Blocks are compared one by one only where their group as a whole neither matches nor fails to.
 */
export function idRangesWithin(bounds: readonly Bound[], span: number): IdRanges {
  const isOfBlocks = span === 1;
  const size = isOfBlocks ? skipped : BigInt(span);
  const groups = bounds.map(({ extents }) => groupsOf(extents, size));
  const matching: Runs = [];
  const complete: Runs = [];
  const inner: Runs = [];
  const parts: Runs = [];
  for (const group of groups[0]?.keys() ?? []) {
    const own = groups.map((all) => all.get(group));
    const fit = fitOfAll(own, bounds);
    if (fit === 'none') continue;
    if (fit === 'all') {
      const [first, last] = [group * size, (group + 1n) * size - 1n];
      add(matching, first, last);
      add(complete, first, last);
      continue;
    }
    for (const { block } of own[0]?.blocks ?? []) {
      const inBlock = fitOfAll(
        own.map((one) => one?.blocks.find((other) => other.block === block)),
        bounds,
      );
      if (inBlock === 'none') continue;
      add(matching, block, block);
      const matchesComplete = isOfBlocks ? complete : inner;
      add(inBlock === 'all' ? matchesComplete : parts, block, block);
    }
  }
  const [first, last] = [matching[0], matching.at(-1)];
  if (!first || !last) return { ids: { low: '0', high: '0' }, whole: complete, inner: [], parts: [] };
  const ids = idsOfBlocks({ first: first.first, last: last.last });
  return { ids, whole: complete, inner: inner.map(idsOfBlocks), parts: parts.map(idsOfBlocks) };
}

/**
 * What of ranges, of all ids where there are none, lies before an id; `span` is how many blocks the smallest counter
 * has.
 */
export function rangesBefore(ranges: IdRanges | undefined, span: number, end: bigint): IdRanges {
  const block = end / BigInt(idsPerBlock);
  const counted = block - (block % BigInt(span));
  const { whole, inner, parts } = ranges ?? { whole: [{ first: 0n, last: block }], inner: [], parts: [] };
  const between = (first: bigint, last: bigint): Blocks[] =>
    whole
      .map((run) => ({ first: run.first > first ? run.first : first, last: run.last < last ? run.last : last }))
      .filter((run) => run.first <= run.last);
  const before = (ids: readonly Ids[]): Ids[] =>
    ids
      .filter(({ low }) => BigInt(low) < end)
      .map(({ low, high }) => ({ low, high: BigInt(high) < end ? high : String(end) }));
  return {
    ids: { low: '0', high: String(end) },
    whole: between(0n, counted - 1n),
    inner: before([...inner, ...between(counted, block).map(idsOfBlocks)]),
    parts: before(parts),
  };
}

/** The ids of blocks. */
export const idsOfBlocks = ({ first, last }: Blocks): Ids => ({
  low: String(first * BigInt(idsPerBlock)),
  high: String((last + 1n) * BigInt(idsPerBlock)),
});

/** Blocks in their order, as runs of those that follow one another. */
type Runs = { first: bigint; last: bigint }[];

function add(runs: Runs, first: bigint, last: bigint): void {
  const run = runs.at(-1);
  if (run && run.last + 1n === first) run.last = last;
  else runs.push({ first, last });
}

/** How ids fit all bounds; where one has no extent of them there is nothing that could match. */
function fitOfAll(result: readonly (Omit<Extent, 'block'> | undefined)[], bounds: readonly Bound[]): Fit {
  let fit: Fit = 'all';
  for (const [at, bound] of bounds.entries()) {
    const own = result[at];
    const other = own ? fitOf(own, bound) : 'none';
    if (other === 'none') return 'none';
    if (other === 'part') fit = 'part';
  }
  return fit;
}

function fitOf({ low, high, hasUnknown }: Omit<Extent, 'block'>, { heights, unknownIsLast }: Bound): Fit {
  const unknownFits = hasUnknown && unknownIsLast && heights.to === Infinity;
  const touches = high >= heights.from && low <= heights.to && high >= low;
  if (!touches && !unknownFits) return 'none';
  const isKnownIn = low >= heights.from && high <= heights.to;
  return isKnownIn && hasUnknown === unknownFits ? 'all' : 'part';
}
