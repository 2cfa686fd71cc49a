import { type RawBuilder, sql } from 'kysely';
import { type ActionFilter, isPair, type Shape } from '../action-filter.ts';
import { type Among, type Branch, branchesOf, type Counted, countOf } from './branches.ts';
import { counterName } from './counter-names.ts';
import { type Ids, idsOfGroups } from './id-ranges.ts';
import { countInGroups } from './pair-counts.ts';
import type { Reading } from '../../reading.ts';
import { type Given, slot } from '../../statement.ts';
import { type Part, type Stretch, stretchesAsRows, stretchesIn } from './ownership-ranges.ts';
import {
  blocksPerGroup,
  countersBetween,
  everyTally,
  kindOf,
  type Names,
  namesIn,
  talliesOf,
} from './block-counters.ts';

/**
 * How many match, as a statement finds it: those that fit of `parts`, all of `inner`, what `tallied` names and `known` is added up.
 */
export type Counting = Readonly<{
  parts: readonly Part[];
  inner: readonly Part[];
  tallied: readonly Names[];
  known: number;
}>;

/** What tallies hold, or is known of a pair, is added up, the rest counted. */
export async function countingOf(
  reading: Reading,
  filter: ActionFilter,
  stretches: readonly Stretch[],
): Promise<Counting> {
  const partsOf = (of: (stretch: Stretch) => readonly (Ids | undefined)[]): Part[] =>
    stretches.flatMap((stretch) => of(stretch).map((ids) => ({ stretch, ids })));
  const parts = partsOf(({ cover }) => cover?.parts ?? []);
  if (!isPair(filter)) {
    const inner = partsOf(({ cover }) => cover?.inner ?? []);
    return { parts, inner, tallied: stretches.flatMap(tallies), known: 0 };
  }
  const known = await countInGroups(reading, filter, stretches);
  const looked = ({ scope, cover }: Stretch): readonly (Ids | undefined)[] => {
    if (!cover) return [undefined];
    const whole = known === undefined ? cover.whole : [];
    return [...cover.inner, ...whole.map((groups) => idsOfGroups(groups, blocksPerGroup(scope)))];
  };
  return { parts, inner: partsOf(looked), tallied: [], known: known ?? 0 };
}

/** Whether one counter holds the total. */
const isCounter = ({ creator, supernode, fromHeight, toHeight }: Shape): boolean =>
  !(creator || supernode || fromHeight || toHeight);

/** Tells the texts of `totalOf` from one another; one that looks for nothing is cheaper. */
export const shapeOfTotal = ({ parts, inner, tallied }: Counting): string =>
  Object.entries({ parts, inner, tallied })
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
    sql`${slot('known')}::int8`,
  ];
  return sql`select (${sql.join(sums, sql` + `)})::int8 as n`;
}

/** Fills the slots of `totalOf`. */
export const totalGiven = (
  { type, state: status }: ActionFilter,
  { parts, inner, tallied, known }: Counting,
): Given => ({
  known,
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
