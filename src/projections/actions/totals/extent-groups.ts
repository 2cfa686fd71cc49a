/** Between which heights the actions of a block of ids lie; `hasUnknown`: some are of no known height. */
export type Extent = Readonly<{ block: bigint; low: number; high: number; hasUnknown: boolean }>;

/** Between which heights the actions of a group of blocks lie, and of each of its blocks. */
export type ExtentGroup = Omit<Extent, 'block'> & Readonly<{ blocks: readonly Extent[] }>;

type Groups = ReadonlyMap<bigint, ExtentGroup>;
const grouped = new WeakMap<readonly Extent[], Map<bigint, Groups>>();

/** Extents, which come in the order of their blocks, by group; computed once for as long as the extents are cached. */
export function groupsOf(extents: readonly Extent[], size: bigint): Groups {
  const cached = grouped.get(extents) ?? new Map<bigint, Groups>();
  grouped.set(extents, cached);
  const before = cached.get(size);
  if (before) return before;
  const blocks = [...Map.groupBy(extents, ({ block }) => block / size)];
  const groups = new Map(blocks.map(([group, all]) => [group, groupOf(all)]));
  cached.set(size, groups);
  return groups;
}

/** Derives the groups of extents from those of earlier ones; only the groups of the changed blocks are computed. */
export function regroup(before: readonly Extent[], after: readonly Extent[], changed: readonly bigint[]): void {
  const cached = new Map<bigint, Groups>();
  for (const [size, groups] of grouped.get(before) ?? []) {
    const touched = new Set(changed.map((block) => block / size));
    const isKnown = [...touched].every((group) => groups.has(group));
    // A new group gets its place in the order of the blocks when all are grouped anew.
    if (!isKnown) continue;
    const now = new Map(groups);
    const touching = after.filter(({ block }) => touched.has(block / size));
    const blocksOf = Map.groupBy(touching, ({ block }) => block / size);
    for (const group of touched) {
      const blocks = blocksOf.get(group);
      if (blocks) now.set(group, groupOf(blocks));
      else now.delete(group);
    }
    cached.set(size, now);
  }
  grouped.set(after, cached);
}

const groupOf = (blocks: readonly Extent[]): ExtentGroup => ({
  low: Math.min(...blocks.map(({ low }) => low)),
  high: Math.max(...blocks.map(({ high }) => high)),
  hasUnknown: blocks.some(({ hasUnknown }) => hasUnknown),
  blocks,
});
