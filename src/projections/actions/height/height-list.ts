import { sql } from 'kysely';
import type { Reading } from '../../reading.ts';
import { positionOf } from '../../relation.ts';
import { run, slot } from '../../statement.ts';
import { type ActionFilter, shapeOf } from '../action-filter.ts';
import { listActions, pageOf } from '../action-list.ts';
import { extentsOf } from '../totals/height-extents.ts';
import {
  type AtHeight,
  inputAtHeight,
  isUnclear,
  matchesAtHeight,
  relationName,
  rowsAtHeight,
  stateAtHeight,
  withSteps,
} from './height-rows.ts';
import { blocksAtHeight, blocksInput, openRows, settledCounts } from './settled.ts';

/** The ids of a page, how many match on every page, and how many may match of which the log does not tell. */
export type IdsAtHeight = Readonly<{ ids: readonly string[]; total: number; unclear: number; hasMore: boolean }>;

type Page = Readonly<{ after?: string | undefined; limit: number }>;

/**
 * A page of the ids of actions that a filter matched on the chain at a height, the newest first, with the exact total.
 *
 * What does not change in an action's life is listed as the actions registered up to that height are.
 */
export async function listAtHeight(
  reading: Reading,
  { height, after, limit, ...filter }: ActionFilter & Page & AtHeight,
): Promise<IdsAtHeight> {
  const { state, supernode, toHeight = Infinity } = filter;
  const isOfSteps = state !== undefined || supernode !== undefined;
  if (!isOfSteps && positionOf(reading, 'actions') === undefined && !(await hasUnknownHeights(reading))) {
    const page = await listActions(reading, { ...filter, after, limit, toHeight: Math.min(toHeight, height) });
    return { ids: page.rows.map(({ id }) => id), total: page.total, unclear: 0, hasMore: page.hasMore };
  }
  if (isOfStateAlone(filter) && positionOf(reading, 'actions') === undefined)
    return await listOfState(reading, filter, { height, after, limit });
  const { shape, given } = await inputAtHeight(reading, filter, { height });
  const unclear = isUnclear(isOfSteps ? 'steps' : 'registration');
  const rows = sql`${rowsAtHeight(reading)} where ${matchesAtHeight(reading, shape)}`;
  const fits = sql`not ${unclear} and ${shape.state ? sql`${stateAtHeight} = ${slot('state')}::text` : sql`true`}`;
  const matches = await run<HeightMatch>(reading, {
    shape: `list at height ${relationName(reading)} ${Object.keys(shape).join()}`,
    text: () => sql`
      select total.n as total, total.unclear, page.id from (
        select count(*) filter (where ${fits}) as n, count(*) filter (where ${unclear}) as unclear from ${rows}) total
      left join (
        select m.id from ${rows} and ${fits} and m.id < ${slot('after')}::numeric
        order by m.id desc limit ${slot('limit')}) page on true
      order by page.id desc`,
    given: { ...given, after: after ?? 'NaN', limit: limit + 1 },
  });
  return pageIn(matches, limit);
}

type HeightMatch = Readonly<{ id: string | null; total: number; unclear: number }>;

function pageIn(matches: readonly HeightMatch[], limit: number): IdsAtHeight {
  const [first] = matches;
  const ids = matches.map(({ id }) => id).filter((id) => id !== null);
  return {
    ids: ids.slice(0, limit),
    total: first?.total ?? 0,
    unclear: first?.unclear ?? 0,
    hasMore: ids.length > limit,
  };
}

/** Returns whether a filter names a state, and nothing else but a type. */
const isOfStateAlone = ({ state, ...others }: ActionFilter): boolean =>
  state !== undefined && Object.entries(others).every(([name, value]) => name === 'type' || value === undefined);

/** A page of the actions in a state: rows are read of the blocks alone that the height divides. */
async function listOfState(
  reading: Reading,
  filter: ActionFilter,
  { height, after, limit }: AtHeight & Page,
): Promise<IdsAtHeight> {
  const { shape, given } = shapeOf({ state: filter.state, type: filter.type });
  const unclear = isUnclear('steps');
  const matches = await run<HeightMatch>(reading, {
    shape: `list of state at height ${relationName(reading)} ${Object.keys(shape).join()}`,
    text: () => sql`
      with open as materialized (
        select m.id, ${unclear} as unclear from ${withSteps(openRows(reading))}
        where ${matchesAtHeight(reading, shape)} and (${unclear} or ${stateAtHeight} = ${slot('state')}::text)),
      page as (
        (select id from (${pageOf(reading, shape)}) settled limit ${slot('limit')})
        union all (select id from open where not unclear and id < ${slot('after')}::numeric
          order by id desc limit ${slot('limit')}))
      select total.n as total, total.unclear, page.id from (
        select count(*) filter (where not open.unclear)
          + (select coalesce(sum(n), 0)::int8 from (${settledCounts(reading, { ofKinds: true })}) settled) as n,
          count(*) filter (where open.unclear) as unclear from open) total
      left join (select id from page order by id desc limit ${slot('limit')}) page on true
      order by page.id desc`,
    given: {
      ...given,
      atHeight: height,
      after: after ?? 'NaN',
      limit: limit + 1,
      ...blocksInput(await blocksAtHeight(reading, height), filter),
    },
  });
  return pageIn(matches, limit);
}

async function hasUnknownHeights(reading: Reading): Promise<boolean> {
  return (await extentsOf(reading, 'registered')).some(({ hasUnknown }) => hasUnknown);
}
