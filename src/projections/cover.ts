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
type Group = Readonly<{ group: bigint; blocks: readonly Block[] }>;

/** Finds the ids that fit everything asked for; what a group has whole is told by groups of `blocksPerGroup` blocks. */
export function coverOf(asked: readonly Asked[], blocksPerGroup: bigint): Cover {
  const groups = groupsOf(common(asked), blocksPerGroup);
  const isWhole = ({ blocks }: Group) => blocks.every(({ fit }) => fit === 'all');
  const fitting = ({ blocks }: Group) => blocks.flatMap(({ block, fit }) => (fit === 'none' ? [] : block));
  const all = groups.flatMap(fitting);
  const [first, last] = [all[0], all.at(-1)];
  if (first === undefined || last === undefined) return { ids: { low: '0', high: '0' }, whole: [], parts: [] };
  const parts = groups.filter((group) => !isWhole(group)).flatMap(fitting);
  return {
    ids: idsOf(first, last),
    whole: runsOf(groups.filter(isWhole).map(({ group }) => group)),
    parts: runsOf(parts).map((run) => idsOf(run.first, run.last)),
  };
}

/** Blocks, which come in their order, by the group that they are of. */
function groupsOf(blocks: readonly Block[], blocksPerGroup: bigint): Group[] {
  const groups: { group: bigint; end: bigint; blocks: Block[] }[] = [];
  for (const one of blocks) {
    const last = groups.at(-1);
    if (last && one.block < last.end) {
      last.blocks.push(one);
      continue;
    }
    const group = one.block / blocksPerGroup;
    groups.push({ group, end: (group + 1n) * blocksPerGroup, blocks: [one] });
  }
  return groups;
}

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

function fitOf(extent: Extent, { heights, unknownIsLast }: Omit<Asked, 'extents'>): Fit {
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
