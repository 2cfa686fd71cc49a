import { type Extent, idsPerBlock } from './height-extents.ts';

/** Heights from one on up to another, both included. */
export type Heights = Readonly<{ from: number; to: number }>;

/** Blocks of ids by height, the heights asked for, and whether an unknown height counts as beyond all others or as none. */
export type Asked = Readonly<{ extents: readonly Extent[]; heights: Heights; unknownIsLast: boolean }>;

/** Ids from one on, up to but without another; decimal text. */
export type Ids = Readonly<{ low: string; high: string }>;

/** Groups of blocks from one to another, both included. */
export type Groups = Readonly<{ first: bigint; last: bigint }>;

/**
 * Which ids can be within the heights asked for.
 *
 * All actions of `whole` groups are, and of `inner` ids, which no group tells of; those of `parts` have to be looked at. `ids`
 * holds all three.
 */
export type Cover = Readonly<{ ids: Ids; whole: readonly Groups[]; inner: readonly Ids[]; parts: readonly Ids[] }>;

type Fit = 'none' | 'part' | 'all';
/** Between which heights the actions of a group lie, and of each of its blocks. */
type Group = Omit<Extent, 'block'> & Readonly<{ blocks: readonly Extent[] }>;
type Asking = Readonly<{ heights: Heights; unknownIsLast: boolean }>;

/** Where single blocks are told they are passed over in groups of this many all the same. */
const coarse = 16n;

/**
 * Finds the ids that fit everything asked for; what a group has whole is told by groups of `blocksPerGroup` blocks.
 *
 * Blocks are looked at where their group as a whole neither fits nor fails to.
 */
export function coverOf(asked: readonly Asked[], blocksPerGroup: bigint): Cover {
  const size = blocksPerGroup === 1n ? coarse : blocksPerGroup;
  const groups = asked.map(({ extents }) => groupsOf(extents, size));
  const fitting: Runs = [];
  const whole: Runs = [];
  const inner: Runs = [];
  const parts: Runs = [];
  for (const group of groups[0]?.keys() ?? []) {
    const own = groups.map((all) => all.get(group));
    const fit = fitOfAll(own, asked);
    if (fit === 'none') continue;
    if (fit === 'all') {
      const [first, last] = [group * size, (group + 1n) * size - 1n];
      add(fitting, first, last);
      add(whole, first / blocksPerGroup, last / blocksPerGroup);
      continue;
    }
    for (const { block } of own[0]?.blocks ?? []) {
      const inBlock = fitOfAll(
        own.map((one) => one?.blocks.find((other) => other.block === block)),
        asked,
      );
      if (inBlock === 'none') continue;
      add(fitting, block, block);
      const fitsWhole = blocksPerGroup === 1n ? whole : inner;
      add(inBlock === 'all' ? fitsWhole : parts, block, block);
    }
  }
  const [first, last] = [fitting[0], fitting.at(-1)];
  const toIds = (runs: Runs) => runs.map((run) => idsOf(run.first, run.last));
  if (!first || !last) return { ids: { low: '0', high: '0' }, whole, inner: [], parts: [] };
  return { ids: idsOf(first.first, last.last), whole, inner: toIds(inner), parts: toIds(parts) };
}

/** The ids of groups of so many blocks. */
export const idsOfGroups = ({ first, last }: Groups, blocksPerGroup: bigint): Ids =>
  idsOf(first * blocksPerGroup, (last + 1n) * blocksPerGroup - 1n);

/** How many groups of so many blocks there are. */
export const countGroups = (extents: readonly Extent[], blocksPerGroup: bigint): number =>
  groupsOf(extents, blocksPerGroup).size;

/** Numbers in their order as runs of those that follow one another. */
type Runs = { first: bigint; last: bigint }[];

function add(runs: Runs, first: bigint, last: bigint): void {
  const run = runs.at(-1);
  if (run && run.last + 1n === first) run.last = last;
  else runs.push({ first, last });
}

const grouped = new WeakMap<readonly Extent[], Map<bigint, ReadonlyMap<bigint, Group>>>();

/** Extents, which come in the order of their blocks, by group; worked out once for as long as they are known. */
function groupsOf(extents: readonly Extent[], blocksPerGroup: bigint): ReadonlyMap<bigint, Group> {
  const known = grouped.get(extents) ?? new Map<bigint, ReadonlyMap<bigint, Group>>();
  grouped.set(extents, known);
  const before = known.get(blocksPerGroup);
  if (before) return before;
  const blocks = [...Map.groupBy(extents, ({ block }) => block / blocksPerGroup)];
  const groups = new Map(blocks.map(([group, all]) => [group, groupOf(all)]));
  known.set(blocksPerGroup, groups);
  return groups;
}

const groupOf = (blocks: readonly Extent[]): Group => ({
  low: Math.min(...blocks.map(({ low }) => low)),
  high: Math.max(...blocks.map(({ high }) => high)),
  hasUnknown: blocks.some(({ hasUnknown }) => hasUnknown),
  blocks,
});

/** How the same ids fit all that is asked for; where there is no such height there is nothing that could be counted. */
function fitOfAll(found: readonly (Omit<Extent, 'block'> | undefined)[], asked: readonly Asking[]): Fit {
  let fit: Fit = 'all';
  for (const [at, one] of asked.entries()) {
    const own = found[at];
    const other = own ? fitOf(own, one) : 'none';
    if (other === 'none') return 'none';
    if (other === 'part') fit = 'part';
  }
  return fit;
}

function fitOf(extent: Omit<Extent, 'block'>, { heights, unknownIsLast }: Asking): Fit {
  const { low, high, hasUnknown } = extent;
  const unknownFits = hasUnknown && unknownIsLast && heights.to === Infinity;
  const touches = high >= heights.from && low <= heights.to && high >= low;
  if (!touches && !unknownFits) return 'none';
  const isKnownIn = low >= heights.from && high <= heights.to;
  return isKnownIn && hasUnknown === unknownFits ? 'all' : 'part';
}

const idsOf = (first: bigint, last: bigint): Ids => ({
  low: String(first * idsPerBlock),
  high: String((last + 1n) * idsPerBlock),
});
