import { sql } from 'kysely';
import { type ActionFilter, conditions, matching, registeredIn } from './action-filter.ts';
import { totalOf } from './action-total.ts';
import { ownerAt } from './ownership.ts';
import type { Reading } from './reading.ts';
import type { ActionRow, Kept } from './tables.ts';

export type { ActionFilter } from './action-filter.ts';

/** One page of the list, and how many actions match on every page. */
export type ActionPage = Readonly<{
  rows: ActionRow[];
  total: number;
  hasMore: boolean;
}>;

const narrowHeights = 16_384;
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
  const { type, state } = filter;
  const tail = sql`order by id desc limit ${limit + 1}`;
  const pages = isNarrow(filter)
    ? [sql`select m.id from (${registeredIn(reading, filter)}) m where ${conditions({ type, state }, after)}`]
    : branchesOf(filter).map((branch) => sql`(${matching(reading, branch, { after, tail })})`);
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

/** The same filter for one type and state at a time, except where the main order needs neither. */
function branchesOf(filter: ActionFilter): ActionFilter[] {
  const { type, state, ...others } = filter;
  const isPlain = Object.values(others).every((value) => value === undefined);
  if (!type && !state && isPlain) return [filter];
  const pairs = (type ? [type] : types).flatMap((one) => (state ? [state] : states).map((other) => [one, other]));
  return pairs.map(([one, other]) => ({ ...filter, type: one, state: other }));
}

/** A range of heights so narrow that its actions are sooner sorted than found in the order of the list. */
function isNarrow({ creator, supernode, fromHeight = 0, toHeight = Infinity }: ActionFilter): boolean {
  return creator === undefined && !supernode && toHeight - fromHeight < narrowHeights;
}
