import { type RawBuilder, sql } from 'kysely';
import { type ActionFilter, isPair, type Shape } from './action-filter.ts';
import { type Among, type Branch, branchesOf, type Counted, countOf } from './branches.ts';
import { counterName } from './counter-names.ts';
import type { Ids } from './cover.ts';
import type { Reading } from './reading.ts';
import { type Given, slot } from './statement.ts';
import { type Part, type Stretch, stretchesAsRows, stretchesIn } from './stretches.ts';
import { countersBetween, everyTally, kindOf, type Names, namesIn, talliesOf } from './tallies.ts';

/** How many match, as a statement finds it: those that fit of `parts`, all of `inner`, and what `tallied` names is added up. */
export type Counting = Readonly<{ parts: readonly Part[]; inner: readonly Part[]; tallied: readonly Names[] }>;

/** What tallies hold is added up, the rest counted; of a pair none knows. */
export function countingOf(shape: Shape, stretches: readonly Stretch[]): Counting {
  const everywhere = isPair(shape) ? [undefined] : [];
  const partsOf = (of: (stretch: Stretch) => readonly (Ids | undefined)[]): Part[] =>
    stretches.flatMap((stretch) => of(stretch).map((ids) => ({ stretch, ids })));
  return {
    parts: partsOf(({ cover }) => cover?.parts ?? []),
    inner: partsOf(({ cover }) => cover?.inner ?? everywhere),
    tallied: isPair(shape) ? [] : stretches.flatMap(tallies),
  };
}

/** Whether one counter holds the total. */
const isCounter = ({ creator, supernode, fromHeight, toHeight }: Shape): boolean =>
  !(creator || supernode || fromHeight || toHeight);

/** Tells the texts of `totalOf` from one another; one that looks for nothing is cheaper. */
export const shapeOfTotal = (counting: Counting): string =>
  Object.entries(counting)
    .filter(([, some]) => some.length > 0)
    .map(([name]) => name)
    .join();

/** One row `n`: how many actions match. */
export function totalOf(reading: Reading, shape: Shape, { parts, inner, tallied }: Counting): RawBuilder<unknown> {
  if (isCounter(shape)) return sql`select ${counted(reading, slot('counter'))} as n`;
  const looked = (among: Among) =>
    sql`(
      select coalesce(sum(found.n), 0) from ${stretchesAsRows(among)} own
      cross join lateral (${countsIn(reading, branchesOf(shape), { shape, among })}) found)`;
  const added = sql`(select coalesce(sum(counter.n), 0) from ${countersBetween(reading, 'tallied', 'kind')})`;
  const sums = [
    ...(parts.length > 0 ? [looked('part')] : []),
    ...(inner.length > 0 ? [looked('inner')] : []),
    ...(tallied.length > 0 ? [added] : []),
    sql`0`,
  ];
  return sql`select (${sql.join(sums, sql` + `)})::int8 as n`;
}

/** Fills the slots of `totalOf`. */
export const totalGiven = ({ type, state: status }: ActionFilter, { parts, inner, tallied }: Counting): Given => ({
  counter: counterName({ type, status }),
  kind: kindOf({ type, status }),
  ...stretchesIn('part', parts),
  ...stretchesIn('inner', inner),
  ...namesIn('tallied', tallied),
});

/** How many of a stretch `own` match as rows `kind, n`, each branch by its own index. */
export function countsIn(reading: Reading, branches: readonly Branch[], what: Counted): RawBuilder<unknown> {
  return sql.join(
    branches.map((branch) => countOf(reading, branch, what)),
    sql` union all `,
  );
}

/** The tallies that count what need not be looked at. */
export function tallies({ scope, cover }: Stretch): Names[] {
  return cover ? cover.whole.flatMap((groups) => talliesOf(scope, groups)) : [everyTally(scope)];
}

/** What a counter holds; the name is an expression of SQL. */
export function counted({ schemas }: Reading, name: RawBuilder<unknown>): RawBuilder<number> {
  return sql`coalesce((select n from ${sql.id(schemas.actions, 'counters')} where name = ${name}), 0)`;
}
