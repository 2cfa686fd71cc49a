import { type RawBuilder, sql } from 'kysely';
import { type ActionFilter, type FilterShape, shapeOf } from './action-filter.ts';
import { type Addends, addendsInTables, addendsOf, shapeOfTotal, totalInput, totalOf } from './totals/action-total.ts';
import { branchesOf, branchFits, kindsInput, newestFirst, tableOf } from './totals/branches.ts';
import { countPair } from './totals/pair-counts.ts';
import { ownerAt, ownedIn } from './ownership.ts';
import { rowsOfHash } from './hash-list.ts';
import { pastRows } from './past-list.ts';
import { claimsOn } from './past-owners.ts';
import { positionOf } from '../relation.ts';
import type { Reading } from '../reading.ts';
import { run, slot } from '../statement.ts';
import { ownershipRangesOf, rowRangesFrom, rowRangesIn } from './totals/ownership-ranges.ts';
import type { ActionRow } from '../tables.ts';

export type { ActionFilter } from './action-filter.ts';

/** The columns of an action in a list; the others are many times as large. */
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
/** An action as a list shows it. */
export type ListedAction = Pick<ActionRow, (typeof shown)[number]>;

type Page = ActionFilter & Readonly<{ after?: string | undefined; limit: number }>;

/** One page of the list, and how many actions match on every page. */
export type ActionPage = Readonly<{
  rows: ListedAction[];
  total: number;
  hasMore: boolean;
}>;

/**
 * More rows than any page holds: the planner does not know the limit, and must not expect a part of the table.
 */
const mostListed = 1000;

type Listed = (ListedAction | { readonly id: null }) & { readonly total: number };

/**
 * A page of actions, the newest first: by id as a number of any size, descending, those below `after`.
 *
 * Page and total are of one snapshot, and the total is exact for every filter. Where the
 * filter names a type or state, each kind is a branch of its own, which reads its index in the order of the list.
 */
export async function listActions(reading: Reading, { after, limit, ...filter }: Page): Promise<ActionPage> {
  if (filter.dataHash) {
    const rows = await rowsOfHash<Listed>(reading, { filter, after, limit, columns: shown });
    return pageIn(rows, { limit, counted: 0 });
  }
  const at = positionOf(reading, 'actions');
  if (at !== undefined) {
    const livePage = (shape: FilterShape) => unchangedPageOf(reading, shape, shown);
    const rows = await pastRows<Listed>(reading, { filter, after, limit, at, columns: shown, livePage });
    return pageIn(rows, { limit, counted: 0 });
  }
  const owners = await ownershipRangesOf(reading, filter);
  const { shape, given } = shapeOf(filter);
  const all = addendsOf(owners);
  const addends = addendsInTables(filter, all);
  const counting = countPair(reading, filter, all.counters);
  const listing = run<Listed>(reading, {
    shape: `list ${reading.schemas.actions} ${Object.keys(shape).join()} ${shapeOfTotal(addends)}`,
    text: () => textOf(reading, shape, addends),
    given: {
      ...given,
      ...kindsInput(filter),
      after: after ?? 'NaN',
      limit: limit + 1,
      ...totalInput(filter, addends),
      ...rowRangesIn(
        'page',
        owners.map((owner) => ({ owner, ids: owner.ranges?.ids })),
      ),
    },
  });
  const [rows, counted] = await Promise.all([listing, counting]);
  return pageIn(rows, { limit, counted });
}

/** Makes a page; `counted` of the total are not in the rows' own. */
function pageIn(rows: readonly Listed[], { limit, counted }: Readonly<{ limit: number; counted: number }>): ActionPage {
  const result = rows.filter((row) => row.id !== null);
  return { rows: result.slice(0, limit), total: (rows[0]?.total ?? 0) + counted, hasMore: result.length > limit };
}

function textOf(reading: Reading, shape: FilterShape, addends: Addends): RawBuilder<unknown> {
  return sql`
    with page as (
      select id from (${pageOf(reading, shape)} limit ${sql.lit(mostListed)}) matching limit ${slot('limit')}
    )
    select total.n as total, ${sql.join(shown.map((column) => sql.id('action', column)))}
    from (${totalOf(reading, shape, addends)}) total
    left join (page join ${sql.id(reading.schemas.actions, 'actions')} action using (id)) on true
    order by action.id desc`;
}

/** The ids of a page. */
export const pageOf = (reading: Reading, shape: FilterShape): RawBuilder<unknown> =>
  pageFrom(shape, { columns: ['id'], rows: sql`${tableOf(reading, shape)} m`, condition: sql`true` });

/** A page of the live rows that are as they were at the position in the slot `at`, with some of their columns. */
function unchangedPageOf(reading: Reading, shape: FilterShape, columns: readonly string[]): RawBuilder<unknown> {
  const live = sql.id(reading.schemas.actions, 'actions');
  const upTo = sql`position <= ${slot('at')}::int8`;
  if (!shape.supernode) return pageFrom(shape, { columns, rows: sql`${live} m`, condition: sql`m.${upTo}` });
  const rows = sql`${tableOf(reading, shape)} m join ${live} action on action.id = m.id and action.${upTo}`;
  return pageFrom(shape, { columns, of: 'action', rows, condition: sql`true` });
}

type PageSource = Readonly<{
  /** What is selected of the rows `of`, which are those of the list, `m`, where it is left out. */
  columns: readonly string[];
  of?: string;
  rows: RawBuilder<unknown>;
  condition: RawBuilder<unknown>;
}>;

/** The newest of some rows `m` that a filter matches, each branch by its own index. */
function pageFrom(shape: FilterShape, { columns, of = 'm', rows, condition }: PageSource): RawBuilder<unknown> {
  const listed = sql.join(columns.map((column) => sql.id(of, column)));
  const isPlain = Object.keys(shape).length === 0;
  if (isPlain)
    return sql`
      select ${listed} from ${rows} where m.id < ${slot('after')}::numeric and ${condition} order by m.id desc`;
  const branches = branchesOf(shape).map(
    (branch) => sql`(
      select mine.* from ${rowRangesFrom('page')} own cross join lateral (
        select ${listed} from ${rows} where ${branchFits(shape, branch)} and ${condition}
        ${newestFirst(shape, branch)} limit ${slot('limit')}
      ) mine)`,
  );
  return sql`select * from (${sql.join(branches, sql` union all `)}) branch order by id desc`;
}

/**
 * The operators whose accounts finalized an action, as the accounts belonged to them at the time; each once, bytewise.
 */
export async function operatorsOf(reading: Reading, { accounts, finalize_tx, height }: ActionRow): Promise<string[]> {
  if (accounts.length === 0) return [];
  const position = positionOf(reading, 'supernodes');
  if (position !== undefined) {
    const claims = await claimsOn(reading, accounts, position);
    const at = finalize_tx?.height ?? height ?? Infinity;
    const owners = ownedIn(claims).filter(({ from, to }) => from <= at && at <= to);
    return [...new Set(owners.map(({ operator }) => operator))].toSorted(compareBytes);
  }
  const text = () => sql`
    select distinct operator from (
      select ${ownerAt(reading, sql`finalizing.account`, sql`${slot('at')}::int8`)} as operator
      from unnest(${slot('accounts')}::text[]) finalizing (account)
    ) owner
    where operator is not null order by operator
  `;
  const rows = await run<{ operator: string }>(reading, {
    shape: `operators ${reading.schemas.supernodes}`,
    text,
    given: { accounts, at: finalize_tx?.height ?? height },
  });
  return rows.map(({ operator }) => operator);
}

/** The order of the database, which compares bytes. */
const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
