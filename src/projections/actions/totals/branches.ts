import { type RawBuilder, sql } from 'kysely';
import { type ActionFilter, isPair, type FilterShape } from '../action-filter.ts';
import { kindsIn } from '../kinds.ts';
import type { Reading } from '../../reading.ts';
import { type Input, slot } from '../../statement.ts';

/** A part of what matches, which an index holds in the order of the list: of one kind, or of any. */
export type Branch = Readonly<{ kind?: RawBuilder<unknown> }>;

/**
 * The branches of a filter, which together hold all matches: a single one where the filter names neither type nor
 * state.
 *
 * The actions that one account finalized of one creator are few enough for a full read; other lists are not.
 */
export function branchesOf(shape: FilterShape): Branch[] {
  return isPair(shape) || !(shape.type || shape.state) ? [{}] : kindsOf(shape);
}

/** A branch for each kind that may match. */
export const kindsOf = (shape: FilterShape): Branch[] => kindSlots(shape).map((kind) => ({ kind }));

/** Fills the slots of the kinds. */
export const kindsInput = (filter: ActionFilter): Input =>
  Object.fromEntries(kindsIn(filter).map((kind, at) => [`kind.${at}`, kind]));

/** Only how many kinds there are is known of a shape. */
const kindSlots = ({ type, state }: FilterShape): RawBuilder<unknown>[] =>
  kindsIn({ ...(type && { type: '' }), ...(state && { state: '' }) }).map(
    (_, at) => sql`${slot(`kind.${at}`)}::"char"`,
  );

/** The condition on the kind for a pair, whose index has the kind last. */
const kindsOfPair = (shape: FilterShape): RawBuilder<unknown>[] =>
  isPair(shape) && (shape.type || shape.state) ? [sql`m.kind in (${sql.join(kindSlots(shape))})`] : [];

/** The conditions on heights; an unknown height of a finalization is above all others. */
function withinHeights(shape: FilterShape): RawBuilder<unknown>[] {
  return [
    ...(shape.fromHeight ? [sql`m.height >= ${slot('fromHeight')}`] : []),
    ...(shape.toHeight ? [sql`m.height <= ${slot('toHeight')}`] : []),
    ...(shape.supernode
      ? [
          sql`(own.since is null or m.at_height is null or m.at_height >= own.since)`,
          sql`(own.until is null or m.at_height <= own.until)`,
        ]
      : []),
  ];
}

/** A column of an index and what it has to be. */
type Fixed = Readonly<{ column: RawBuilder<unknown>; value: RawBuilder<unknown> }>;

/** The first columns of a branch's index; the id follows them. */
function fixed(shape: FilterShape, { kind }: Branch): Fixed[] {
  const { supernode, creator } = shape;
  if (isPair(shape)) return [pairFits('pair', 0), pairFits('pair_again', 1)];
  return [
    ...(creator ? [{ column: sql`m.creator`, value: sql`${slot('creator')}::text` }] : []),
    ...(supernode ? [{ column: sql`m.account`, value: sql`own.account collate "C"` }] : []),
    ...(kind ? [{ column: sql`m.kind`, value: kind }] : []),
  ];
}

/** A column that holds what creator and account hash to, in the words of `actionAccounts`. */
const pairFits = (column: string, seed: number): Fixed => ({
  column: sql`${sql.id('m', column)}`,
  value: sql`hashtextextended(${slot('creator')}::text || ' ' || own.account, ${sql.lit(seed)})`,
});

/**
 * Holds for a row `m` of a branch that matches and whose id is within those of the row range `own`, and below `after`.
 *
 * The last column and the id are compared together with two bounds, between which the index of the branch, and no other
 * one, is read in its order, whatever the planner expects; what comes before them is equal, which costs less for each
 * row.
 */
export function branchFits(shape: FilterShape, branch: Branch): RawBuilder<unknown> {
  const all = fixed(shape, branch);
  const same = all.slice(0, -1).map(({ column, value }) => sql`${column} = ${value}`);
  const last = all.slice(-1);
  const ordered = sql`(${sql.join([...last.map(({ column }) => column), sql`m.id`])})`;
  const at = (id: RawBuilder<unknown>) => sql`(${sql.join([...last.map(({ value }) => value), id])})`;
  // NaN is beyond all numbers.
  const end = sql`least(own.high, ${slot('after')}::numeric)`;
  const bounds = [sql`${ordered} >= ${at(sql`coalesce(own.low, 0)`)}`, sql`${ordered} < ${at(end)}`];
  return every([...same, ...bounds, ...kindsOfPair(shape), ...withinHeights(shape)]);
}

/**
 * Which rows are counted: those of `part` ranges, whose heights have to be compared, or of `inner` ones, which all
 * match.
 */
export type Among = 'part' | 'inner';

/** The rows to be counted one by one. */
export type RowCount = Readonly<{ shape: FilterShape; among: Among }>;

/**
 * How many rows of a branch match, of those whose id is within those of the row range `own`, as a row `kind, n`.
 *
 * Only the first columns of the branch's index decide where it is read, so that PostgreSQL compares pages as a whole.
 */
export function countOf(reading: Reading, branch: Branch, { shape, among }: RowCount): RawBuilder<unknown> {
  const same = fixed(shape, branch).map(({ column, value }) => sql`${column} = ${value}`);
  const others = [...kindsOfPair(shape), ...(among === 'inner' ? [] : withinHeights(shape))];
  const fitting = others.length > 0 ? sql`filter (where ${every(others)})` : sql``;
  const ids = [sql`m.id >= coalesce(own.low, 0)`, sql`m.id < coalesce(own.high, 'NaN')`];
  return sql`
    select ${branch.kind ?? sql`null::"char"`} as kind, count(*) ${fitting} as n
    from ${tableOf(reading, shape)} m where ${every([...same, ...ids])}`;
}

/** Holds for a `kind` of a type, as counters and `countOf` have it. */
export const isOfType = (type: string): RawBuilder<unknown> =>
  sql`kind in (${sql.join(kindsIn({ type }).map((kind) => sql.lit(kind)))})`;

const every = (conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> => sql.join(conditions, sql` and `);

/** The rows of a branch the newest first, in the words of its index. */
export function newestFirst(shape: FilterShape, branch: Branch): RawBuilder<unknown> {
  const columns = [...fixed(shape, branch).map(({ column }) => column), sql`m.id`];
  return sql`order by ${sql.join(columns.map((column) => sql`${column} desc`))}`;
}

/** The table that holds a filter's actions. */
export function tableOf({ schemas }: Reading, { supernode }: FilterShape): RawBuilder<unknown> {
  return sql`${sql.id(schemas.actions, supernode ? 'action_accounts' : 'actions')}`;
}
