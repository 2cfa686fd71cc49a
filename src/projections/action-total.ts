import { type RawBuilder, sql } from 'kysely';
import {
  type ActionFilter,
  branchesOf,
  isPair,
  branchFits,
  type Part,
  type Shape,
  type Stretch,
  stretchesAsRows,
  stretchesIn,
  tableOf,
} from './action-filter.ts';
import { counterName } from './counter-names.ts';
import type { Ids } from './cover.ts';
import type { Reading } from './reading.ts';
import { type Given, slot } from './statement.ts';
import { countersBetween, everyTally, kindOf, type Names, namesIn, talliesOf } from './tallies.ts';

/** How many match, as a statement finds it: of what `parts` hold each is counted, what `tallied` names is added up. */
export type Counting = Readonly<{ parts: readonly Part[]; tallied: readonly Names[] }>;

/** What tallies hold is added up, the rest counted. */
export function countingOf(shape: Shape, stretches: readonly Stretch[]): Counting {
  const isCountedWhole = isPair(shape);
  return {
    parts: stretches.flatMap((stretch) => partsOf(stretch, isCountedWhole).map((ids) => ({ stretch, ids }))),
    tallied: isCountedWhole ? [] : stretches.flatMap(tallies),
  };
}

/** Whether one counter holds the total. */
const isCounter = ({ creator, supernode, fromHeight, toHeight }: Shape): boolean =>
  !(creator || supernode || fromHeight || toHeight);

/** Tells the texts of `totalOf` from one another; one that looks for nothing is cheaper. */
export const shapeOfTotal = ({ parts, tallied }: Counting): string => `${parts.length > 0} ${tallied.length > 0}`;

/** One row `n`: how many actions match. */
export function totalOf(reading: Reading, shape: Shape, { parts, tallied }: Counting): RawBuilder<unknown> {
  if (isCounter(shape)) return sql`select ${counted(reading, slot('counter'))} as n`;
  const looked = sql`(
    select count(*) from ${stretchesAsRows('part')} own cross join lateral (${rowsIn(reading, shape)}) m)`;
  const added = sql`(select coalesce(sum(counter.n), 0) from ${countersBetween(reading, 'tallied', 'kind')})`;
  const sums = [...(parts.length > 0 ? [looked] : []), ...(tallied.length > 0 ? [added] : []), sql`0`];
  return sql`select (${sql.join(sums, sql` + `)})::int8 as n`;
}

/** Fills the slots of `totalOf`. */
export const totalGiven = ({ type, state: status }: ActionFilter, { parts, tallied }: Counting): Given => ({
  counter: counterName({ type, status }),
  kind: kindOf({ type, status }),
  ...stretchesIn('part', parts),
  ...namesIn('tallied', tallied),
});

/** The matches of a stretch `own` as rows `type`, in no order; each branch by its own index. */
export function rowsIn(reading: Reading, shape: Shape): RawBuilder<unknown> {
  const branches = branchesOf(shape).map(
    (branch) => sql`select m.type from ${tableOf(reading, shape)} m where ${branchFits(shape, branch)}`,
  );
  return sql`${sql.join(branches, sql` union all `)} offset 0`;
}

/** Ids that have to be looked at: all of them where there are no tallies. */
export function partsOf({ cover }: Stretch, isCountedWhole = false): readonly (Ids | undefined)[] {
  if (isCountedWhole) return [cover?.ids];
  return cover?.parts ?? [];
}

/** The tallies that count what need not be looked at. */
export function tallies({ scope, cover }: Stretch): Names[] {
  return cover ? cover.whole.flatMap((groups) => talliesOf(scope, groups)) : [everyTally(scope)];
}

/** What a counter holds; the name is an expression of SQL. */
export function counted({ schemas }: Reading, name: RawBuilder<unknown>): RawBuilder<number> {
  return sql`coalesce((select n from ${sql.id(schemas.actions, 'counters')} where name = ${name}), 0)`;
}
