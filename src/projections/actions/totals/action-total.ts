import { type RawBuilder, sql } from 'kysely';
import { type ActionFilter, isPair, type FilterShape } from '../action-filter.ts';
import { kindsIn } from '../kinds.ts';
import type { Reading } from '../../reading.ts';
import type { Input } from '../../statement.ts';
import { type CounterRange, countersIn, rangesIn } from './block-counters.ts';
import { type Among, type Branch, branchesOf, countOf, type RowCount } from './branches.ts';
import type { IdRanges, Ids } from './id-ranges.ts';
import { countersOf, type OwnershipRange, type RowRange, rowRangesFrom, rowRangesIn } from './ownership-ranges.ts';

/** How a total is added up: the rows of `parts` that match, all rows of `inner`, and what `counters` hold. */
export type Addends = Readonly<{
  parts: readonly RowRange[];
  inner: readonly RowRange[];
  counters: readonly CounterRange[];
}>;

/** Finds the addends of a total: what counters hold is added up, the rest counted row by row. */
export function addendsOf(owners: readonly OwnershipRange[]): Addends {
  const rowsOf = (idsOf: (ranges: IdRanges) => readonly Ids[]): RowRange[] =>
    owners.flatMap((owner) => (owner.ranges ? idsOf(owner.ranges) : []).map((ids) => ({ owner, ids })));
  return {
    parts: rowsOf((ranges) => ranges.parts),
    inner: rowsOf((ranges) => ranges.inner),
    counters: owners.flatMap(countersOf),
  };
}

/** The addends that the statement of a filter adds up; for a pair there is no table of counters, but `countPair`. */
export const addendsInTables = (filter: ActionFilter, addends: Addends): Addends =>
  isPair(filter) ? { ...addends, counters: [] } : addends;

/** Distinguishes the texts of `totalOf`; an addend that reads nothing is left out, which is cheaper. */
export const shapeOfTotal = ({ parts, inner, counters }: Addends): string =>
  Object.entries({ parts, inner, counters })
    .filter(([, some]) => some.length > 0)
    .map(([name]) => name)
    .join();

/** One row `n`: how many actions match. */
export function totalOf(
  reading: Reading,
  shape: FilterShape,
  { parts, inner, counters }: Addends,
): RawBuilder<unknown> {
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
  ];
  return sql`select (${sums.length > 0 ? sql.join(sums, sql` + `) : sql`0`})::int8 as n`;
}

/** Fills the slots of `totalOf`. */
export const totalInput = (filter: ActionFilter, { parts, inner, counters }: Addends): Input => ({
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
