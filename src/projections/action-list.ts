import { type RawBuilder, sql } from 'kysely';
import {
  type ActionFilter,
  branchFits,
  newestFirst,
  branchesOf,
  type Stretch,
  stretchesAsRows,
  stretchesOf,
  tableOf,
} from './action-filter.ts';
import { totalOf } from './action-total.ts';
import { ownerAt } from './ownership.ts';
import type { Reading } from './reading.ts';
import type { ActionRow } from './tables.ts';

export type { ActionFilter } from './action-filter.ts';

/** What a list tells of an action; the rest is many times as much. */
const shown = [
  'id',
  'type',
  'status',
  'chain_state',
  'data_hash',
  'created_at',
  'finalized_at',
  'register_tx',
  'finalize_tx',
  'approve_tx',
] as const;
/** An action as a list tells of it. */
export type ListedAction = Pick<ActionRow, (typeof shown)[number]>;

/** One page of the list, and how many actions match on every page. */
export type ActionPage = Readonly<{
  rows: ListedAction[];
  total: number;
  hasMore: boolean;
}>;

/** More than any page holds: a plan that does not know the limit must not expect a part of the whole table. */
const mostListed = 1000;

type Listed = (ListedAction | { readonly id: null }) & { readonly total: number };

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
  const stretches = await stretchesOf(reading, filter);
  const { rows } = await sql<Listed>`
    with page as (
      select id from (${pageOf(reading, { filter, stretches, after, limit: limit + 1 })} limit ${sql.lit(mostListed)}) matching
      limit ${limit + 1}
    )
    select total.n as total, ${sql.join(shown.map((column) => sql.id('action', column)))}
    from (${totalOf(reading, { filter, stretches })}) total
    left join (page join ${sql.id(reading.schemas.actions, 'actions')} action using (id)) on true
    order by action.id desc
  `.execute(reading.db);
  const found = rows.filter((row) => row.id !== null);
  return { rows: found.slice(0, limit), total: rows[0]?.total ?? 0, hasMore: found.length > limit };
}

type Page = Readonly<{
  filter: ActionFilter;
  stretches: readonly Stretch[];
  after?: string | undefined;
  limit: number;
}>;

function pageOf(reading: Reading, { filter, stretches, after, limit }: Page): RawBuilder<unknown> {
  const isPlain = Object.values(filter).every((value) => value === undefined);
  if (isPlain)
    return sql`select m.id from ${tableOf(reading, filter)} m where m.id < ${after ?? 'NaN'}::numeric order by id desc`;
  const given = stretchesAsRows(
    stretches,
    stretches.map(({ cover }) => cover?.ids),
  );
  const branches = branchesOf(filter).map(
    (branch) => sql`(
      select mine.id from ${given} own cross join lateral (
        select m.id from ${tableOf(reading, filter)} m where ${branchFits(filter, branch, after)}
        ${newestFirst(filter, branch)} limit ${limit}
      ) mine)`,
  );
  return sql`select id from (${sql.join(branches, sql` union all `)}) branch order by id desc`;
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
