import { type RawBuilder, sql } from 'kysely';
import { type ActionFilter, isPair, type Shape } from '../action-filter.ts';
import { kindsIn } from '../kinds.ts';
import type { Reading } from '../../reading.ts';
import { type Given, slot } from '../../statement.ts';
import { type CounterRange, countersIn, rangesIn } from './block-counters.ts';
import { type Among, type Branch, branchesOf, countOf, type RowCount } from './branches.ts';
import { type Ids, idsOfBlocks } from './id-ranges.ts';
import { countersOf, type OwnershipRange, type RowRange, rowRangesFrom, rowRangesIn } from './ownership-ranges.ts';
import { countOfWholeGroups } from './pair-counts.ts';

/** How a statement adds up a total: the rows of `parts` that match, all rows of `inner`, the `counters`, and what is `known`. */
export type Addends = Readonly<{
  parts: readonly RowRange[];
  inner: readonly RowRange[];
  counters: readonly CounterRange[];
  known: number;
}>;

/** Finds the addends of a total: what counters hold, or is cached of a pair, is added up, the rest counted row by row. */
export async function addendsOf(
  reading: Reading,
  filter: ActionFilter,
  owners: readonly OwnershipRange[],
): Promise<Addends> {
  const rowsOf = (idsOf: (owner: OwnershipRange) => readonly (Ids | undefined)[]): RowRange[] =>
    owners.flatMap((owner) => idsOf(owner).map((ids) => ({ owner, ids })));
  const parts = rowsOf(({ ranges }) => ranges?.parts ?? []);
  if (!isPair(filter)) {
    const inner = rowsOf(({ ranges }) => ranges?.inner ?? []);
    return { parts, inner, counters: owners.flatMap(countersOf), known: 0 };
  }
  const known = await countOfWholeGroups(reading, filter, owners);
  const counted = ({ ranges }: OwnershipRange): readonly (Ids | undefined)[] => {
    if (!ranges) return [undefined];
    return [...ranges.inner, ...(known === undefined ? ranges.whole : []).map(idsOfBlocks)];
  };
  return { parts, inner: rowsOf(counted), counters: [], known: known ?? 0 };
}

/** Tells the texts of `totalOf` from one another; one that reads nothing is cheaper. */
export const shapeOfTotal = ({ parts, inner, counters }: Addends): string =>
  Object.entries({ parts, inner, counters })
    .filter(([, some]) => some.length > 0)
    .map(([name]) => name)
    .join();

/** One row `n`: how many actions match. */
export function totalOf(reading: Reading, shape: Shape, { parts, inner, counters }: Addends): RawBuilder<unknown> {
  const rows = (among: Among) =>
    sql`(
      select coalesce(sum(found.n), 0) from ${rowRangesFrom(among)} own
      cross join lateral (${countsOf(reading, branchesOf(shape), { shape, among })}) found)`;
  const ofKinds = shape.type === true || shape.state === true;
  const added = sql`(select coalesce(sum(counter.n), 0) from (${countersIn(reading, 'counters', { ofKinds })}) counter)`;
  const sums = [
    ...(parts.length > 0 ? [rows('part')] : []),
    ...(inner.length > 0 ? [rows('inner')] : []),
    ...(counters.length > 0 ? [added] : []),
    sql`${slot('known')}::int8`,
  ];
  return sql`select (${sql.join(sums, sql` + `)})::int8 as n`;
}

/** Fills the slots of `totalOf`. */
export const totalGiven = (filter: ActionFilter, { parts, inner, counters, known }: Addends): Given => ({
  known,
  kinds: kindsIn(filter),
  ...rowRangesIn('part', parts),
  ...rowRangesIn('inner', inner),
  ...rangesIn('counters', counters),
});

/** How many of the row range `own` match as rows `kind, n`, each branch by its own index. */
export function countsOf(reading: Reading, branches: readonly Branch[], what: RowCount): RawBuilder<unknown> {
  return sql.join(
    branches.map((branch) => countOf(reading, branch, what)),
    sql` union all `,
  );
}
