import { type RawBuilder, sql } from 'kysely';
import { type ActionFilter, type FilterShape, shapeOf } from './action-filter.ts';
import { columnsFor, type CountedFrom, changesAt, matches, matchInput, nearerEnd, ofActions } from './action-rows.ts';
import type { Reading } from '../reading.ts';
import { positionInput, supersededAt } from '../relation.ts';
import { run, slot } from '../statement.ts';
import { type Addends, addendsInTables, addendsOf, shapeOfTotal, totalInput, totalOf } from './totals/action-total.ts';
import { countPair } from './totals/pair-counts.ts';
import { kindsInput } from './totals/branches.ts';
import { rowRangesIn } from './totals/ownership-ranges.ts';
import { ownershipRangesAt, type RangesAt } from './past-owners.ts';
import { ownerBefore, type SettledIds, withSettledIds } from './settled-ids.ts';

/** A page of the past: which actions to list and from where, and how a page of live rows is read. */
export type PastPage = Readonly<{
  filter: ActionFilter;
  after: string | undefined;
  limit: number;
  at: number;
  columns: readonly string[];
  /** Live rows that match, the newest first, of those unchanged since the position, with these columns. */
  livePage: (shape: FilterShape) => RawBuilder<unknown>;
}>;

/**
 * The rows of a page of actions as of a position, with the total on each, as `listActions` reads them of the head.
 *
 * What was there is a live row unchanged since then, or a superseded one: the page is the first of both, and the total
 * is counted from the nearer end of history.
 */
export async function pastRows<Row>(reading: Reading, page: PastPage): Promise<readonly Row[]> {
  const owners = ownershipRangesAt(reading, page.filter);
  const rowsOf = async (ids: SettledIds): Promise<readonly Row[]> => await rowsWith(reading, page, await owners, ids);
  const [rows] = await Promise.all([withSettledIds(reading, page.at, rowsOf), owners]);
  return rows;
}

async function rowsWith<Row>(
  reading: Reading,
  page: PastPage,
  owners: RangesAt,
  { end, settled }: SettledIds,
): Promise<readonly Row[]> {
  const { filter, after, limit, at, columns, livePage } = page;
  const { shape, given } = shapeOf(filter);
  const from = settled === undefined ? nearerEnd(reading, at) : 'ids';
  const counted = settled === undefined ? owners.counted : owners.counted.map((owner) => ownerBefore(owner, settled));
  const all: Addends = from === 'start' ? { parts: [], inner: [], counters: [] } : addendsOf(counted);
  const addends = addendsInTables(filter, all);
  const ofPair = await countPair(reading, filter, all.counters);
  return await run<Row>(reading, {
    shape: `past list ${reading.schemas.actions} ${Object.keys(shape).join()} ${from} ${shapeOfTotal(addends)}`,
    text: () => textOf(reading, { shape, from, addends, columns, livePage }),
    given: {
      ...given,
      ...kindsInput(filter),
      ...matchInput(filter, owners.counted),
      ...positionInput(reading, 'actions', at),
      after: String(leastOf(after, end)),
      'after.all': String(end),
      settled: String(settled ?? 0n),
      limit: limit + 1,
      ...totalInput(filter, addends),
      counted: ofPair,
      ...rowRangesIn(
        'page',
        owners.listed.map((owner) => ({ owner, ids: owner.ranges?.ids })),
      ),
    },
  });
}

const leastOf = (after: string | undefined, end: bigint): bigint =>
  after !== undefined && BigInt(after) < end ? BigInt(after) : end;

type Text = Readonly<{ shape: FilterShape; from: CountedFrom; addends: Addends }> &
  Pick<PastPage, 'columns' | 'livePage'>;

function textOf(reading: Reading, { shape, from, addends, columns, livePage }: Text): RawBuilder<unknown> {
  const listed = sql.join(columns.map((column) => sql.id(column)));
  const past = sql.id(reading.schemas.actions, 'actions_past');
  const compared = columnsFor(shape);
  const noted = sql.join(['id', 'position', ...compared].map((column) => sql.id(column)));
  return sql`
    with superseded_then as materialized (
      select ${noted} from ${supersededAt(reading, ofActions)} superseded
    ), page as (
      select ${listed} from (
        select * from (${livePage(shape)} limit ${slot('limit')}) live
        union all select replaced.* from (
          select m.id, m.position from superseded_then m
          where m.id < ${slot('after')}::numeric and ${matches(shape)} order by m.id desc limit ${slot('limit')}) past
        cross join lateral (
          select ${listed} from ${past} one where one.id = past.id and one.position = past.position) replaced
      ) both_kinds order by id desc limit ${slot('limit')}
    )
    select total.n as total, action.*
    from (select (${slot('counted')}::int8 + (${totalOf(reading, shape, addends)}) + (
      select coalesce(sum(m.sign), 0) from ${changesAt(reading, from, compared, sql`superseded_then`)} m where ${matches(shape)}
    ))::int8 as n) total
    left join page action on true
    order by action.id desc`;
}
