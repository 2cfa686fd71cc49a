import { type RawBuilder, sql } from 'kysely';
import type { Reading } from '../../reading.ts';
import { positionInput, positionOf, relationAt } from '../../relation.ts';
import { type Input, slot } from '../../statement.ts';
import { type ActionFilter, type FilterShape, shapeOf } from '../action-filter.ts';
import { finalizedHeight, fulfils, ofActions, ownConditions } from '../action-rows.ts';
import { unknownHeight } from '../action-tables.ts';
import { ownedBy } from '../ownership.ts';
import { ownedByAt } from '../past-owners.ts';
import { type OwnershipRange, ownershipRange, rowRangesFrom, rowRangesIn } from '../totals/ownership-ranges.ts';

/** What actions were on the chain at a height. */
export type AtHeight = Readonly<{ height: number }>;

const at = sql`${slot('atHeight')}::int8`;
const known = (column: RawBuilder<unknown>) => sql`nullif(${column}, ${sql.lit(unknownHeight)})`;
const [finalized, approved] = [known(sql`m.finalized_height`), known(sql`m.approved_height`)];

/**
 * Rows `m` of all actions as the reading has them, with the steps of each at the height in the slot `atHeight` as `s`:
 * `registered`, `finalized` and `approved`, true where the step was taken by then, null where nothing tells.
 *
 * The rule is that of `factsUpTo`: a step of no known height lies between its neighbours.
 */
export function rowsAtHeight(reading: Reading): RawBuilder<unknown> {
  const live = sql`${sql.id(reading.schemas.actions, 'actions')}`;
  return withSteps(positionOf(reading, 'actions') === undefined ? live : relationAt(reading, ofActions));
}

/** Some of these rows `m` with their steps `s`. */
export function withSteps(rows: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`${rows} m cross join lateral (select
    case when m.height is not null then m.height <= ${at}
      when least(${finalized}, ${approved}) <= ${at} then true end as registered,
    case when m.finalized_height is null then false
      when ${finalized} is not null then ${finalized} <= ${at}
      when ${approved} <= ${at} then true
      when m.height > ${at} then false end as finalized,
    case when m.approved_height is null then false
      when ${approved} is not null then ${approved} <= ${at}
      when greatest(m.height, ${finalized}) > ${at} then false end as approved
  ) s`;
}

/** Holds for a row of which nothing tells what an answer depends on: a step, or only the registration. */
export const isUnclear = (dependsOn: 'registration' | 'steps'): RawBuilder<unknown> =>
  dependsOn === 'registration'
    ? sql`s.registered is null`
    : sql`(s.registered is null or s.finalized is null or s.approved is null)`;

/** The last step that was taken, of a row that is clear. */
export const stateAtHeight = sql`case when s.approved then 'approved' when s.finalized then 'finalized'
  else 'registered' end`;

/** Holds for a row that was registered by then, or may have been, and that a filter matches but for its state. */
export function matchesAtHeight(reading: Reading, shape: FilterShape): RawBuilder<unknown> {
  const rows = fulfils(shape, {
    type: sql`m.type = ${slot('type')}::text collate "C"`,
    state: undefined,
    ...ownConditions,
    supernode: sql`s.finalized is not false and ${isFinalizedByOwn(reading)}`,
  });
  return sql`s.registered is not false and ${rows}`;
}

function isFinalizedByOwn(reading: Reading): RawBuilder<unknown> {
  const owned = isOwnedAtHeight('own');
  if (positionOf(reading, 'actions') !== undefined)
    return sql`exists (select from ${rowRangesFrom('own')} own join ${accountsOfRow} a on a.account = own.account
      where ${owned})`;
  const accounts = sql.id(reading.schemas.actions, 'action_accounts');
  return sql`m.id in (select a.id from ${rowRangesFrom('own')} own
    join ${accounts} a on a.account = own.account collate "C" where ${owned})`;
}

/** The rows of `action_accounts` that follow from a row `m` of actions. */
export const accountsOfRow = sql`(
  select account, ${finalizedHeight} as at_height,
    coalesce((m.accounts_since ->> (place - 1)::int4)::int8, ${finalized}) as since_height
  from jsonb_array_elements_text(m.accounts) with ordinality named (account, place))`;

/**
 * Holds for an account `a` of an action that finalized it by the height, or with a step of no known height, while it
 * was its owner's.
 */
export function isOwnedAtHeight(own: string): RawBuilder<unknown> {
  const when = sql`case when a.at_height <= ${at} then a.at_height else coalesce(a.since_height, a.at_height) end`;
  const [since, until] = [sql.id(own, 'since'), sql.id(own, 'until')];
  return sql`(a.since_height is null or a.since_height <= ${at})
    and (${since} is null or ${when} is null or ${when} >= ${since}) and (${until} is null or ${when} <= ${until})`;
}

/** The values of a filter, its owners included, and its shape. */
export async function inputAtHeight(
  reading: Reading,
  filter: ActionFilter,
  { height }: AtHeight,
): Promise<{ shape: FilterShape; given: Input }> {
  const { shape, given } = shapeOf(filter);
  const owners = await ownersOf(reading, filter);
  return { shape, given: { ...given, ...ownersInput(owners), ...heightInput(reading, height) } };
}

/** Fills the slots of `rowsAtHeight`. */
export function heightInput(reading: Reading, height: number): Input {
  const position = positionOf(reading, 'actions');
  return { atHeight: height, ...(position !== undefined && positionInput(reading, 'actions', position)) };
}

/** Fills the slots of the owners. */
export const ownersInput = (owners: readonly OwnershipRange[]): Input =>
  rowRangesIn(
    'own',
    owners.map((owner) => ({ owner, ids: undefined })),
  );

/** The owners of a filter, each with the heights at which it was. */
export async function ownersOf(reading: Reading, { supernode }: ActionFilter): Promise<OwnershipRange[]> {
  if (!supernode) return [];
  if ('account' in supernode) return [ownershipRange({ account: supernode.account, from: 0, to: Infinity })];
  const position = positionOf(reading, 'supernodes');
  const { operator } = supernode;
  const owned =
    position === undefined ? await ownedBy(reading, operator) : await ownedByAt(reading, operator, position);
  return owned.map(ownershipRange);
}

/** Distinguishes statements over the head from those over the past. */
export const relationName = (reading: Reading): string =>
  `${reading.schemas.actions} ${positionOf(reading, 'actions') === undefined ? '' : 'past'}`;
