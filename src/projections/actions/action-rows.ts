import { type RawBuilder, sql } from 'kysely';
import type { Reading } from '../reading.ts';
import { type PastTable, supersededAt } from '../relation.ts';
import { type Input, slot } from '../statement.ts';
import type { ActionFilter, FilterShape } from './action-filter.ts';
import { actionTable } from './action-tables.ts';
import { kindsIn } from './kinds.ts';
import { type OwnershipRange, rowRangesIn } from './totals/ownership-ranges.ts';

/** The table of actions, for readings of the past. */
export const ofActions: PastTable = { projection: 'actions', table: actionTable };

/**
 * From where the rows of a position are counted: from an end of history, or from what the head has of ids that were
 * all there at the position.
 */
export type CountedFrom = 'head' | 'start' | 'ids';

/** The nearer end: counters of the head less what changed since, or all that is unchanged since. */
export const nearerEnd = ({ followed }: Reading, at: number): CountedFrom =>
  followed.actions.sequence - at < at ? 'head' : 'start';

/**
 * Rows `m` with a `sign`, which lead from what is counted at one end of history to what there was at the position in
 * the slot `at`: from the head, live rows changed since count backwards; from the start, those unchanged count. From
 * ids, those before the slot `settled` count backwards where they were superseded since, those from there on where they
 * are unchanged. The superseded ones of that position, which a statement may have as `rows`, count in any case.
 */
export function changesAt(
  reading: Reading,
  from: CountedFrom,
  columns: readonly string[],
  rows: RawBuilder<unknown> = supersededAt(reading, ofActions),
): RawBuilder<unknown> {
  const list = sql.join(['position', ...columns].map((column) => sql.id(column)));
  const live = sql.id(reading.schemas.actions, actionTable.name);
  const isUnchanged = sql`live.position <= ${slot('at')}::int8`;
  const superseded = sql`select 1::int8 as sign, ${list} from ${rows} superseded`;
  if (from === 'ids')
    return sql`(
      ${superseded}
      union all select -1::int8, now.* from ${rows} superseded cross join lateral (
        select ${list} from ${live} live where live.id = superseded.id and live.id < ${slot('settled')}::numeric
        offset 0) now
      union all select 1::int8, unsettled.* from (
        select ${list} from ${live} live
        where live.id >= ${slot('settled')}::numeric and live.id < ${slot('after.all')}::numeric and ${isUnchanged}
          ${columns.includes('accounts') ? sql`and live.id = any (array(${unsettledIds(reading)}))` : sql``}
        offset 0) unsettled)`;
  // What changed since is little near the head: it is read by position, whatever else a filter compares.
  const bound = from === 'head' ? sql`live.position > ${slot('at')}::int8 offset 0` : isUnchanged;
  return sql`(
    select ${sql.lit(from === 'head' ? -1 : 1)}::int8 as sign, changed.* from (
      select ${list} from ${live} live where ${bound}) changed
    union all ${superseded})`;
}

/** Ids of unsettled live rows that accounts of a filter finalized: they are few among all that are not settled. */
const unsettledIds = ({ schemas }: Reading): RawBuilder<unknown> => sql`
  select done.id from ${sql.id(schemas.actions, 'action_accounts')} done
  where done.account = any (${slot('own.account')}::text[] collate "C")
    and done.id >= ${slot('settled')}::numeric and done.id < ${slot('after.all')}::numeric`;

/** The columns that `matches` compares. */
export const comparedColumns = ['kind', 'creator', 'height', 'accounts', 'finalize_tx'] as const;

/** The columns that a filter compares. */
export const columnsFor = (shape: FilterShape): (typeof comparedColumns)[number][] => [
  ...(shape.type || shape.state ? ['kind' as const] : []),
  ...(shape.creator ? ['creator' as const] : []),
  ...(shape.fromHeight || shape.toHeight || shape.supernode ? ['height' as const] : []),
  ...(shape.supernode ? (['accounts', 'finalize_tx'] as const) : []),
];

/** What a row `m` fulfils for each condition of a filter, undefined where something else judges that one. */
export type RowConditions = Readonly<Record<keyof ActionFilter, RawBuilder<unknown> | undefined>>;

/** What a row `m` fulfils for those conditions of a filter that are about itself alone. */
export const ownConditions = {
  creator: sql`m.creator = ${slot('creator')}::text collate "C"`,
  fromHeight: sql`m.height >= ${slot('fromHeight')}::int8`,
  toHeight: sql`m.height <= ${slot('toHeight')}::int8`,
  dataHash: sql`m.data_hash = any (${slot('dataHash')}::text[] collate "C")`,
};

/** Holds for a row that fulfils every condition of a filter. */
export function fulfils(shape: FilterShape, conditions: RowConditions): RawBuilder<unknown> {
  const all = Object.entries(conditions).flatMap(([name, one]) =>
    one && shape[name as keyof FilterShape] ? [one] : [],
  );
  return sql.join([sql`true`, ...new Set(all)], sql` and `);
}

/** Holds for a row `m` of actions, live or superseded, that a filter matches; `matchInput` fills its slots. */
export function matches(shape: FilterShape): RawBuilder<unknown> {
  return fulfils(shape, { type: isOfKind, state: isOfKind, ...ownConditions, supernode: isOwned });
}

const isOfKind = sql`m.kind = any (${slot('match.kinds')}::"char"[])`;

/** When an account counts as a node's, as `action_accounts` has it. */
export const finalizedHeight = sql`coalesce((m.finalize_tx ->> 'height')::int8, m.height)`;

const isOwned = sql`exists (
  select from unnest(${slot('own.account')}::text[], ${slot('own.since')}::int8[], ${slot('own.until')}::int8[])
    as own (account, since, until)
  where m.accounts ? own.account
    and (own.since is null or ${finalizedHeight} is null or ${finalizedHeight} >= own.since)
    and (own.until is null or ${finalizedHeight} <= own.until))`;

/** Fills the slots of `matches`; those of the filter's own values are filled by their names. */
export const matchInput = (filter: ActionFilter, owners: readonly OwnershipRange[]): Input => ({
  'match.kinds': kindsIn(filter).filter((kind) => kind !== null),
  ...rowRangesIn(
    'own',
    owners.map((owner) => ({ owner, ids: undefined })),
  ),
});
