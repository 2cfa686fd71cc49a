import { type RawBuilder, sql } from 'kysely';
import {
  type ActionFilter,
  branchesOf,
  isPair,
  branchFits,
  type Stretch,
  stretchesAsRows,
  tableOf,
} from './action-filter.ts';
import { counterName } from './counter-names.ts';
import type { Reading } from './reading.ts';
import { countersBetween, everyTally, namesAsRows, type Names, talliesOf } from './tallies.ts';

type Asking = Readonly<{ filter: ActionFilter; stretches: readonly Stretch[] }>;

/** One row `n`: how many actions match. What tallies hold is added up, the rest counted. */
export function totalOf(reading: Reading, { filter, stretches }: Asking): RawBuilder<unknown> {
  const { type, state: status, creator, supernode } = filter;
  const isEverything = creator === undefined && !supernode && stretches.every(({ cover }) => !cover);
  if (isEverything) return sql`select ${counted(reading, sql`${counterName({ type, status })}`)} as n`;
  const isCountedWhole = isPair(filter);
  const parts = stretches.flatMap((stretch) => partsOf(stretch, isCountedWhole).map((ids) => ({ stretch, ids })));
  const tallied = isCountedWhole ? [] : stretches.flatMap(tallies);
  const looked = sql`select count(*) from ${stretchesAsRows(
    parts.map(({ stretch }) => stretch),
    parts.map(({ ids }) => ids),
  )} own cross join lateral (${rowsIn(reading, filter)}) m`;
  const added = sql`select coalesce(sum(counter.n), 0) from ${countersBetween(reading, namesAsRows(tallied), { type, status })}`;
  return sql`select ((${added}) + (${looked}))::int8 as n`;
}

/** The matches of a stretch `own` as rows `type`, in no order; each branch by its own index. */
export function rowsIn(reading: Reading, filter: ActionFilter): RawBuilder<unknown> {
  const branches = branchesOf(filter).map(
    (branch) => sql`select m.type from ${tableOf(reading, filter)} m where ${branchFits(filter, branch)}`,
  );
  return sql`${sql.join(branches, sql` union all `)} offset 0`;
}

/** Ids that have to be looked at: all of them where there are no tallies. */
export function partsOf(
  { cover }: Stretch,
  isCountedWhole = false,
): readonly ({ low: string; high: string } | undefined)[] {
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
