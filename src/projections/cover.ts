import { type Extent, idsPerBlock } from './places.ts';

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
 * All actions of `whole` groups are, no need to look at them; those of `parts` have to be looked at; `ids` holds both.
 */
export type Cover = Readonly<{ ids: Ids; whole: readonly Groups[]; parts: readonly Ids[] }>;

type Fit = 'none' | 'part' | 'all';
type Block = Readonly<{ block: bigint; fit: Fit }>;
/** Between which heights the actions of a group lie, and of each of its blocks. */
type Group = Omit<Extent, 'block'> & Readonly<{ blocks: readonly Extent[] }>;

/**
 * Finds the ids that fit everything asked for; what a group has whole is told by groups of `blocksPerGroup` blocks.
 *
 * Blocks are looked at where their group as a whole neither fits nor fails to.
 */
export function coverOf(asked: readonly Asked[], blocksPerGroup: bigint): Cover {
  const inGroups = asked.map((one) => ({ ...one, groups: groupsOf(one.extents, blocksPerGroup) }));
  const fitting: bigint[] = [];
  const whole: bigint[] = [];
  const parts: bigint[] = [];
  for (const [group, { blocks }] of inGroups[0]?.groups ?? []) {
    const own = inGroups.map(({ groups, ...rest }) => ({ ...rest, found: groups.get(group) }));
    const fit = own.map(({ found, ...rest }) => (found ? fitOf(found, rest) : 'none')).reduce(lesser);
    if (fit === 'none') continue;
    const found = fit === 'all' ? blocks.map(({ block }) => block) : within(own);
    fitting.push(...found);
    if (fit === 'all') whole.push(group);
    else parts.push(...found);
  }
  const [first, last] = [fitting[0], fitting.at(-1)];
  if (first === undefined || last === undefined) return { ids: { low: '0', high: '0' }, whole: [], parts: [] };
  return {
    ids: idsOf(first, last),
    whole: runsOf(whole),
    parts: runsOf(parts).map((run) => idsOf(run.first, run.last)),
  };
}

/** The blocks of one group that fit at least in part. */
function within(asked: readonly (Omit<Asked, 'extents'> & { readonly found: Group | undefined })[]): bigint[] {
  const blocks = common(asked.map(({ found, ...rest }) => ({ ...rest, extents: found?.blocks ?? [] })));
  return blocks.filter(({ fit }) => fit !== 'none').map(({ block }) => block);
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

/** How every block fits all that is asked for; one without any such height holds nothing that could be counted. */
function common(asked: readonly Asked[]): Block[] {
  const [first, ...others] = asked.map(({ extents, ...rest }) =>
    extents.map((extent) => ({ block: extent.block, fit: fitOf(extent, rest) })),
  );
  return others.reduce((blocks, more) => {
    const fits = new Map(more.map(({ block, fit }) => [block, fit]));
    return blocks.flatMap(({ block, fit }) => {
      const other = fits.get(block);
      return other === undefined ? [] : [{ block, fit: lesser(fit, other) }];
    });
  }, first ?? []);
}

function fitOf(extent: Omit<Extent, 'block'>, { heights, unknownIsLast }: Omit<Asked, 'extents'>): Fit {
  const { low, high, hasUnknown } = extent;
  const unknownFits = hasUnknown && unknownIsLast && heights.to === Infinity;
  const touches = high >= heights.from && low <= heights.to && high >= low;
  if (!touches && !unknownFits) return 'none';
  const isKnownIn = low >= heights.from && high <= heights.to;
  return isKnownIn && hasUnknown === unknownFits ? 'all' : 'part';
}

const lesser = (a: Fit, b: Fit): Fit => (a === 'none' || b === 'none' ? 'none' : a === 'all' ? b : a);

/** Numbers in their order as runs of those that follow one another. */
function runsOf(numbers: readonly bigint[]): Groups[] {
  const runs: { first: bigint; last: bigint }[] = [];
  for (const one of numbers) {
    const run = runs.at(-1);
    if (run && run.last + 1n === one) run.last = one;
    else runs.push({ first: one, last: one });
  }
  return runs;
}

const idsOf = (first: bigint, last: bigint): Ids => ({
  low: String(first * idsPerBlock),
  high: String((last + 1n) * idsPerBlock),
});
