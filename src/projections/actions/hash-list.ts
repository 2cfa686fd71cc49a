import { sql } from 'kysely';
import type { Reading } from '../reading.ts';
import { positionInput, positionOf, relationAt } from '../relation.ts';
import { run, slot } from '../statement.ts';
import { shapeOf } from './action-filter.ts';
import { matches, matchInput, ofActions } from './action-rows.ts';
import { ownersOf, relationName } from './height/height-rows.ts';
import type { PastPage } from './past-list.ts';

/**
 * The rows of a page of the actions with a data hash, with the total on each, as `listActions` reads others.
 *
 * Few actions share their data: all of them are read and counted, by the index of the hashes.
 */
export async function rowsOfHash<Row>(
  reading: Reading,
  { filter, after, limit, columns }: Pick<PastPage, 'filter' | 'after' | 'limit' | 'columns'>,
): Promise<readonly Row[]> {
  const { shape, given } = shapeOf(filter);
  const at = positionOf(reading, 'actions');
  const live = sql.id(reading.schemas.actions, 'actions');
  const rows = sql`${at === undefined ? live : relationAt(reading, ofActions)} m where ${matches(shape)}`;
  return await run<Row>(reading, {
    shape: `list of hash ${relationName(reading)} ${Object.keys(shape).join()}`,
    text: () => sql`
      select total.n as total, ${sql.join(columns.map((column) => sql.id('action', column)))}
      from (select count(*) as n from ${rows}) total
      left join (
        select m.* from ${rows} and m.id < ${slot('after')}::numeric order by m.id desc limit ${slot('limit')}
      ) action on true
      order by action.id desc`,
    given: {
      ...given,
      ...matchInput(filter, await ownersOf(reading, filter)),
      ...(at !== undefined && positionInput(reading, 'actions', at)),
      after: after ?? 'NaN',
      limit: limit + 1,
    },
  });
}
