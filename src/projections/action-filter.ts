import { type RawBuilder, sql } from 'kysely';
import { type Asked, type Cover, coverOf, type Heights, type Ids } from './cover.ts';
import { type Owned, ownedBy } from './ownership.ts';
import { extentsOf } from './places.ts';
import type { Reading } from './reading.ts';
import { type Given, slot } from './statement.ts';
import { blocksPerGroup, type Scope } from './tallies.ts';

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

/**
 * A filter as it is looked for: each stretch is one scope, in which the matches are among the ids of its cover.
 *
 * An action is in one stretch at most. Without a cover there is no bound on the heights.
 */
export type Stretch = Readonly<{
  scope: Scope;
  account: string;
  finalized: Heights;
  cover?: Cover;
}>;

const types = ['cascade', 'sense'];
const states = ['registered', 'finalized', 'approved'];
const anyHeight: Heights = { from: 0, to: Infinity };

/** Finds the stretches of a filter. */
export async function stretchesOf(reading: Reading, filter: ActionFilter): Promise<Stretch[]> {
  const { creator, supernode } = filter;
  if (!supernode) {
    const scope: Scope = creator === undefined ? 'all' : `creator:${creator}`;
    return await covered(reading, [{ scope, account: '', finalized: anyHeight }], filter);
  }
  const owned =
    'account' in supernode
      ? [{ account: supernode.account, ...anyHeight }]
      : await ownedBy(reading, supernode.operator);
  return await covered(reading, owned.map(stretchOf), filter);
}

/** What an account finalized while it was somebody's. */
export const stretchOf = ({ account, from, to }: Omit<Owned, 'operator'>): Stretch => ({
  scope: `account:${account}`,
  account,
  finalized: { from, to },
});

/** Stretches with their covers, where heights are bounded. */
export async function covered(
  reading: Reading,
  stretches: readonly Stretch[],
  filter: ActionFilter = {},
): Promise<Stretch[]> {
  const { fromHeight, toHeight } = filter;
  const isBounded = fromHeight !== undefined || toHeight !== undefined;
  const registered = isBounded
    ? [
        {
          extents: await extentsOf(reading, 'registered'),
          heights: { from: fromHeight ?? 0, to: toHeight ?? Infinity },
          unknownIsLast: false,
        },
      ]
    : [];
  const extents = stretches.some(isWithin) ? await extentsOf(reading, 'finalized') : [];
  return stretches.map((stretch) => {
    const finalized = isWithin(stretch) ? [{ extents, heights: stretch.finalized, unknownIsLast: true }] : [];
    const asked: Asked[] = [...registered, ...finalized];
    const groups = isPair(shapeOf(filter).shape) ? undefined : blocksPerGroup(stretch.scope);
    return asked.length === 0 ? stretch : { ...stretch, cover: coverOf(asked, groups) };
  });
}

const isWithin = ({ finalized: { from, to } }: Stretch) => from > 0 || to < Infinity;

/** What a filter asks for, whatever the values: statements of one shape have one text, with a slot for each value. */
export type Shape = Readonly<{ [Name in keyof ActionFilter]?: boolean }>;

/** The shape of a filter, and the values of its slots. */
export function shapeOf(filter: ActionFilter): { shape: Shape; given: Given } {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  return { shape: Object.fromEntries(given.map(([name]) => [name, true])), given: Object.fromEntries(given) };
}

/** A part of what matches, which an index holds in the order of the list: of one type and state, or of any. */
export type Branch = Readonly<{ type?: RawBuilder<unknown>; state?: RawBuilder<unknown> }>;

/**
 * The branches of a filter, which together hold all that matches.
 *
 * What one account finalized of one creator is little enough to be looked through whole, other lists are not.
 */
export function branchesOf(shape: Shape): Branch[] {
  if (isPair(shape)) return [{}];
  const each = shape.type ? [slot('type')] : types.map((type) => sql`${type}`);
  const inEach = shape.state ? [slot('state')] : states.map((state) => sql`${state}`);
  return each.flatMap((type) => inEach.map((state) => ({ type, state })));
}

/** Whether the actions of a creator and of accounts are asked for, of which no tally knows. */
export const isPair = ({ creator, supernode }: Shape): boolean => Boolean(creator && supernode);

/** A stretch, of which those among some ids are looked at, all where none are told. */
export type Part = Readonly<{ stretch: Stretch; ids: Ids | undefined }>;

/** The stretches in a slot as rows: `account`, the ids `low` and `high` and the heights `since` and `until`, null where there is no bound. */
export function stretchesAsRows(of: string): RawBuilder<unknown> {
  return sql`(select * from unnest(
    ${slot(`${of}.account`)}::text[], ${slot(`${of}.low`)}::numeric[], ${slot(`${of}.high`)}::numeric[],
    ${slot(`${of}.since`)}::int8[], ${slot(`${of}.until`)}::int8[]
  ) with ordinality as given (account, low, high, since, until, place))`;
}

/** Fills the slot `of` with stretches. */
export const stretchesIn = (of: string, parts: readonly Part[]): Given => ({
  [`${of}.account`]: parts.map(({ stretch }) => stretch.account),
  [`${of}.low`]: parts.map(({ ids }) => ids?.low ?? null),
  [`${of}.high`]: parts.map(({ ids }) => ids?.high ?? null),
  [`${of}.since`]: parts.map(({ stretch: { finalized } }) => (finalized.from > 0 ? finalized.from : null)),
  [`${of}.until`]: parts.map(({ stretch: { finalized } }) => (finalized.to < Infinity ? finalized.to : null)),
});

/** What a pair asks for of the kinds that its index has last. */
function kindsOfPair(shape: Shape): RawBuilder<unknown>[] {
  if (!isPair(shape)) return [];
  return [
    ...(shape.type ? [sql`m.type = ${slot('type')}`] : []),
    ...(shape.state ? [sql`m.status = ${slot('state')}`] : []),
  ];
}

/** Heights asked for; an unknown height of a finalization is beyond all others. */
function withinHeights(shape: Shape): RawBuilder<unknown>[] {
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

/** What the index of a branch begins with; its ids follow. */
function fixed({ supernode, creator }: Shape, { type, state }: Branch): Fixed[] {
  return [
    ...(creator ? [{ column: sql`m.creator`, value: sql`${slot('creator')}::text` }] : []),
    ...(supernode ? [{ column: sql`m.account`, value: sql`own.account collate "C"` }] : []),
    ...(type ? [{ column: sql`m.type`, value: sql`${type}::text` }] : []),
    ...(state ? [{ column: sql`m.status`, value: sql`${state}::text` }] : []),
  ];
}

/**
 * Holds for a row `m` of a branch that matches and whose id is within those of the stretch `own`, and below `after`.
 *
 * The last column and the id are written as two places between which the index of the branch, and no other one, is read in its
 * order, whatever the planner expects; what comes before them is equal, which costs less for each row.
 */
export function branchFits(shape: Shape, branch: Branch): RawBuilder<unknown> {
  const all = fixed(shape, branch);
  const same = all.slice(0, -1).map(({ column, value }) => sql`${column} = ${value}`);
  const last = all.slice(-1);
  const place = sql`(${sql.join([...last.map(({ column }) => column), sql`m.id`])})`;
  const at = (id: RawBuilder<unknown>) => sql`(${sql.join([...last.map(({ value }) => value), id])})`;
  // NaN is beyond all numbers.
  const end = sql`least(own.high, ${slot('after')}::numeric)`;
  const bounds = [sql`${place} >= ${at(sql`coalesce(own.low, 0)`)}`, sql`${place} < ${at(end)}`];
  return every([...same, ...bounds, ...kindsOfPair(shape), ...withinHeights(shape)]);
}

/**
 * How many rows `m` of a branch match, of those whose id is within those of the stretch `own`; the heights of all `inner` ones fit.
 *
 * Only what the index of the branch begins with decides where it is read, so that PostgreSQL compares whole pages of it.
 */
export function countOf(
  { among, ...reading }: Pick<Reading, 'schemas'> & { readonly among: 'part' | 'inner' },
  shape: Shape,
  branch: Branch,
): RawBuilder<unknown> {
  const same = fixed(shape, branch).map(({ column, value }) => sql`${column} = ${value}`);
  const others = [...kindsOfPair(shape), ...(among === 'inner' ? [] : withinHeights(shape))];
  const fitting = others.length > 0 ? sql`filter (where ${every(others)})` : sql``;
  const ids = [sql`m.id >= coalesce(own.low, 0)`, sql`m.id < coalesce(own.high, 'NaN')`];
  return sql`
    select ${branch.type ?? sql`null`}::text as type, count(*) ${fitting} as n
    from ${tableOf(reading, shape)} m where ${every([...same, ...ids])}`;
}

const every = (conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> => sql.join(conditions, sql` and `);

/** The rows of a branch the newest first, in the words of its index. */
export function newestFirst(shape: Shape, branch: Branch): RawBuilder<unknown> {
  const columns = [...fixed(shape, branch).map(({ column }) => column), sql`m.id`];
  return sql`order by ${sql.join(columns.map((column) => sql`${column} desc`))}`;
}

/** The table in which a filter's actions are looked for. */
export function tableOf({ schemas }: Pick<Reading, 'schemas'>, { supernode }: Shape): RawBuilder<unknown> {
  return sql`${sql.id(schemas.actions, supernode ? 'action_accounts' : 'actions')}`;
}
