import { type RawBuilder, sql } from 'kysely';
import { type Asked, type Cover, coverOf, type Heights } from './cover.ts';
import { type Owned, ownedBy } from './ownership.ts';
import { extentsOf } from './places.ts';
import type { Reading } from './reading.ts';
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
  { fromHeight, toHeight }: Pick<ActionFilter, 'fromHeight' | 'toHeight'> = {},
): Promise<Stretch[]> {
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
    return asked.length === 0 ? stretch : { ...stretch, cover: coverOf(asked, blocksPerGroup(stretch.scope)) };
  });
}

const isWithin = ({ finalized: { from, to } }: Stretch) => from > 0 || to < Infinity;

/** A part of what matches, which an index holds in the order of the list: of one type and state, or of any. */
export type Branch = Readonly<{ type?: string; state?: string }>;

/**
 * The branches of a filter, which together hold all that matches.
 *
 * What one account finalized of one creator is little enough to be looked through whole, other lists are not.
 */
export function branchesOf(filter: ActionFilter): Branch[] {
  if (isPair(filter)) return [{}];
  const { type, state } = filter;
  const all = type === undefined ? types : [type];
  return all.flatMap((one) => (state === undefined ? states : [state]).map((other) => ({ type: one, state: other })));
}

/** Whether the actions of a creator and of accounts are asked for, of which no tally knows. */
export const isPair = ({ creator, supernode }: ActionFilter): boolean =>
  creator !== undefined && supernode !== undefined;

/** Stretches as rows: `account`, the ids `low` and `high` and the heights `since` and `until`, null where there is no bound. */
export function stretchesAsRows(
  stretches: readonly Pick<Stretch, 'account' | 'finalized'>[],
  ids: readonly ({ low: string; high: string } | undefined)[],
): RawBuilder<unknown> {
  const column = <T>(of: (stretch: (typeof stretches)[number], at: number) => T) => stretches.map(of);
  return sql`(select * from unnest(
    ${column(({ account }) => account)}::text[],
    ${column((_, at) => ids[at]?.low ?? null)}::numeric[], ${column((_, at) => ids[at]?.high ?? null)}::numeric[],
    ${column(({ finalized }) => (finalized.from > 0 ? finalized.from : null))}::int8[],
    ${column(({ finalized }) => (finalized.to < Infinity ? finalized.to : null))}::int8[]
  ) with ordinality as given (account, low, high, since, until, place))`;
}

/** What no index needs to find; an unknown height of a finalization is beyond all others. */
function others(filter: ActionFilter): RawBuilder<unknown>[] {
  const { fromHeight, toHeight, supernode, type, state } = filter;
  return [
    ...(isPair(filter) && type !== undefined ? [sql`m.type = ${type}`] : []),
    ...(isPair(filter) && state !== undefined ? [sql`m.status = ${state}`] : []),
    ...(fromHeight === undefined ? [] : [sql`m.height >= ${fromHeight}`]),
    ...(toHeight === undefined ? [] : [sql`m.height <= ${toHeight}`]),
    ...(supernode
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
function fixed({ supernode, creator }: ActionFilter, { type, state }: Branch): Fixed[] {
  return [
    ...(creator === undefined ? [] : [{ column: sql`m.creator`, value: sql`${creator}::text` }]),
    ...(supernode ? [{ column: sql`m.account`, value: sql`own.account collate "C"` }] : []),
    ...(type === undefined ? [] : [{ column: sql`m.type`, value: sql`${type}::text` }]),
    ...(state === undefined ? [] : [{ column: sql`m.status`, value: sql`${state}::text` }]),
  ];
}

/**
 * Holds for a row `m` of a branch that matches and whose id is within those of the stretch `own`, and below `after`.
 *
 * The last column and the id are written as two places between which the index of the branch, and no other one, is read,
 * whatever the planner expects; what comes before them is equal, which costs less for each row.
 */
export function branchFits(filter: ActionFilter, branch: Branch, after?: string): RawBuilder<unknown> {
  const all = fixed(filter, branch);
  const same = all.slice(0, -1).map(({ column, value }) => sql`${column} = ${value}`);
  const last = all.slice(-1);
  const place = sql`(${sql.join([...last.map(({ column }) => column), sql`m.id`])})`;
  const at = (id: RawBuilder<unknown>) => sql`(${sql.join([...last.map(({ value }) => value), id])})`;
  // NaN is beyond all numbers.
  const end = sql`least(own.high, ${after ?? 'NaN'}::numeric)`;
  return sql.join(
    [...same, sql`${place} >= ${at(sql`coalesce(own.low, 0)`)}`, sql`${place} < ${at(end)}`, ...others(filter)],
    sql` and `,
  );
}

/** The rows of a branch the newest first, in the words of its index. */
export function newestFirst(filter: ActionFilter, branch: Branch): RawBuilder<unknown> {
  const columns = [...fixed(filter, branch).map(({ column }) => column), sql`m.id`];
  return sql`order by ${sql.join(columns.map((column) => sql`${column} desc`))}`;
}

/** The table in which a filter's actions are looked for. */
export function tableOf({ schemas }: Reading, { supernode }: ActionFilter): RawBuilder<unknown> {
  return sql`${sql.id(schemas.actions, supernode ? 'action_accounts' : 'actions')}`;
}
