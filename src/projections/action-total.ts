import { type RawBuilder, sql } from 'kysely';
import { type ActionFilter, conditions, matching, registeredIn } from './action-filter.ts';
import { cellsBetween, splitHeights } from './buckets.ts';
import { counterName } from './counter-names.ts';
import { accountsOf, ownerAt } from './ownership.ts';
import type { Reading } from './reading.ts';

/** One row `n`: how many actions match, from counters where they hold it, else counted. */
export function totalOf(reading: Reading, filter: ActionFilter): RawBuilder<unknown> {
  const { type, state, creator, supernode, fromHeight, toHeight } = filter;
  const cell = { type, status: state };
  const isRange = fromHeight !== undefined || toHeight !== undefined;
  if (isRange && creator === undefined && !supernode) return inRange(reading, filter);
  if (isRange || (creator !== undefined && supernode))
    return sql`select count(*) as n from (${matching(reading, filter, {})}) m`;
  if (!supernode) return sql`select ${counted(reading, sql`${counterName({ creator }, cell)}`)} as n`;
  if ('account' in supernode) return sql`select ${counted(reading, sql`${counterName(supernode, cell)}`)} as n`;
  const operator = sql`${supernode.operator}`;
  return sql`
    select coalesce(sum(case when own.sole
      then ${counted(reading, sql`format(${counterName({ account: '%s' }, cell)}, own.account)`)}
      else (
        select count(*) from ${sql.id(reading.schemas.actions, 'action_accounts')} m
        where m.account = own.account and ${conditions(filter)} and ${ownerAt(reading, sql`m.account`, sql`m.at_height`)} = ${operator}
      )
    end), 0)::int8 as n
    from ${accountsOf(reading, operator)} own`;
}

/** A range of heights by its buckets, and the edges counted. */
function inRange(reading: Reading, filter: ActionFilter): RawBuilder<unknown> {
  const { buckets, edges } = splitHeights(filter.fromHeight, filter.toHeight);
  const { type, state } = filter;
  const counts = edges.map(
    (edge) => sql`(select count(*) from (${registeredIn(reading, edge)}) m where ${conditions({ type, state })})`,
  );
  const whole = sql`(
    select coalesce(sum(m.n), 0) from (${cellsBetween(reading, buckets)}) m where ${conditions({ type, state })}
  )`;
  return sql`select (${sql.join([whole, ...counts], sql` + `)})::int8 as n`;
}

/** What a counter holds; the name is an expression of SQL. */
export function counted({ schemas }: Reading, name: RawBuilder<unknown>): RawBuilder<number> {
  return sql`coalesce((select n from ${sql.id(schemas.actions, 'counters')} where name = ${name}), 0)`;
}
