import { type RawBuilder, sql } from 'kysely';
import { counterName } from './counter-names.ts';
import { accountsOf, ownerAt } from './ownership.ts';
import type { Reading } from './reading.ts';
import type { ActionRow, Kept } from './tables.ts';

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

export type ActionPage = Readonly<{
  rows: ActionRow[];
  /** All that match, on every page. */
  total: number;
  hasMore: boolean;
}>;

const types = ['cascade', 'sense'];
const states = ['registered', 'finalized', 'approved'];

type Listed = (Kept<ActionRow> | { readonly id: null }) & { readonly total: number };

/**
 * A page of actions, the newest first: by id as a number of any size, descending, those below `after`.
 *
 * Page and total come from one statement, hence from one snapshot; the total is exact for every filter. Each pair of
 * type and state is a branch of its own, which reads its index in the order of the list.
 */
export async function listActions(
  reading: Reading,
  { after, limit, ...filter }: ActionFilter & Readonly<{ after?: string; limit: number }>,
): Promise<ActionPage> {
  const tail = sql`order by id desc limit ${limit + 1}`;
  const pages = branchesOf(filter).map((branch) => sql`(${matching(reading, branch, { after, tail })})`);
  const { rows } = await sql<Listed>`
    with page as (select id from (${sql.join(pages, sql` union all `)}) branch ${tail})
    select total.n as total, action.*
    from (${totalOf(reading, filter)}) total
    left join (page join ${sql.id(reading.schemas.actions, 'actions')} action using (id)) on true
    order by action.id desc
  `.execute(reading.db);
  const found = rows.filter((row) => row.id !== null);
  return { rows: found.slice(0, limit), total: rows[0]?.total ?? 0, hasMore: found.length > limit };
}

/** The operators whose accounts finalized an action, as the accounts belonged to them at the time; each once, bytewise. */
export async function operatorsOf(reading: Reading, { accounts, finalize_tx, height }: ActionRow): Promise<string[]> {
  if (accounts.length === 0) return [];
  const at = sql`${finalize_tx?.height ?? height}::int8`;
  const { rows } = await sql<{ operator: string }>`
    select distinct operator from (
      select ${ownerAt(reading, sql`finalizing.account`, at)} as operator from unnest(${accounts}::text[]) finalizing (account)
    ) owner
    where operator is not null order by operator
  `.execute(reading.db);
  return rows.map(({ operator }) => operator);
}

/** How many actions match: from counters where they hold it, else counted. */
function totalOf(reading: Reading, filter: ActionFilter): RawBuilder<unknown> {
  const { type, state, creator, supernode, fromHeight, toHeight } = filter;
  const cell = { type, status: state };
  const isRange = fromHeight !== undefined || toHeight !== undefined;
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

/** What a counter holds; the name is an expression of SQL. */
export function counted({ schemas }: Reading, name: RawBuilder<unknown>): RawBuilder<number> {
  return sql`coalesce((select n from ${sql.id(schemas.actions, 'counters')} where name = ${name}), 0)`;
}

/** The same filter for one type and state at a time, except where the main order needs neither. */
function branchesOf(filter: ActionFilter): ActionFilter[] {
  const { type, state, creator, supernode } = filter;
  if (!type && !state && !creator && !supernode) return [filter];
  const pairs = (type ? [type] : types).flatMap((one) => (state ? [state] : states).map((other) => [one, other]));
  return pairs.map(([one, other]) => ({ ...filter, type: one, state: other }));
}

/** The ids of the actions that match, each once; `tail` orders and cuts them. */
function matching(
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

function conditions({ type, state, creator, fromHeight, toHeight }: ActionFilter, after?: string): RawBuilder<unknown> {
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
