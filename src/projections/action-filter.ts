import { type RawBuilder, sql } from 'kysely';
import { accountsOf, ownerAt } from './ownership.ts';
import type { Reading } from './reading.ts';

/** Which actions to list; what is left out does not matter. */
export type ActionFilter = Readonly<{
  type?: string;
  creator?: string;
  state?: string;
  /** Actions that this account finalized, or that any account finalized which was this operator's at the time. */
  supernode?: { readonly account: string } | { readonly operator: string };
  /** Height of the register transaction, both ends included. */
  fromHeight?: number;
  toHeight?: number;
}>;

/** The ids of the actions that match, each once; `tail` orders and cuts them. */
export function matching(
  reading: Reading,
  filter: ActionFilter,
  { after, tail = sql`` }: Readonly<{ after?: string; tail?: RawBuilder<unknown> }>,
): RawBuilder<unknown> {
  const { supernode } = filter;
  const fits = conditions(filter, after);
  if (!supernode) return sql`select m.id from ${sql.id(reading.schemas.actions, 'actions')} m where ${fits} ${tail}`;
  const pairs = sql`${sql.id(reading.schemas.actions, 'action_accounts')} m`;
  if ('account' in supernode)
    return sql`select m.id from ${pairs} where m.account = ${supernode.account} and ${fits} ${tail}`;
  const operator = sql`${supernode.operator}`;
  return sql`select mine.id from ${accountsOf(reading, operator)} own cross join lateral (
    select m.id from ${pairs}
    where m.account = own.account and ${fits}
      and (own.sole or ${ownerAt(reading, sql`m.account`, sql`m.at_height`)} = ${operator}) ${tail}
  ) mine`;
}

/** What the list needs of the actions of a range of heights, found by height whatever else is asked of them. */
export function registeredIn({ schemas }: Reading, { fromHeight, toHeight }: ActionFilter): RawBuilder<unknown> {
  return sql`
    select m.id, m.type, m.status from ${sql.id(schemas.actions, 'actions')} m
    where ${conditions({ fromHeight, toHeight })} offset 0`;
}

/** What holds for a row `m` that matches, supernodes aside: they are a matter of which table is read. */
export function conditions(
  { type, state, creator, fromHeight, toHeight }: ActionFilter,
  after?: string,
): RawBuilder<unknown> {
  const all = [
    type === undefined ? [] : sql`m.type = ${type}`,
    state === undefined ? [] : sql`m.status = ${state}`,
    creator === undefined ? [] : sql`m.creator = ${creator}`,
    fromHeight === undefined ? [] : sql`m.height >= ${fromHeight}`,
    toHeight === undefined ? [] : sql`m.height <= ${toHeight}`,
    after === undefined ? [] : sql`m.id < ${after}`,
  ].flat();
  return all.length > 0 ? sql.join(all, sql` and `) : sql`true`;
}
