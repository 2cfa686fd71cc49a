import { type RawBuilder, sql } from 'kysely';
import type { Reading } from '../../reading.ts';
import { positionOf } from '../../relation.ts';
import { run, slot } from '../../statement.ts';
import type { ActionStats, StatsFilter } from '../action-stats.ts';
import type { NodeActions } from '../node-counts.ts';
import { type Owned, ownedIn } from '../ownership.ts';
import { claimsAt } from '../past-owners.ts';
import { actionStates, actionTypes } from '../../../events/words.ts';
import { kindsIn } from '../kinds.ts';
import { ownershipRange, rowRangesFrom } from '../totals/ownership-ranges.ts';
import {
  accountsOfRow,
  type AtHeight,
  heightInput,
  isOwnedAtHeight,
  isUnclear,
  ownersInput,
  relationName,
  rowsAtHeight,
  stateAtHeight,
  withSteps,
} from './height-rows.ts';
import { blocksAtHeight, blocksInput, openRows, settledCounts, settledExpired } from './settled.ts';

/** The counts at a height, and how many actions there are of which the log does not tell how they count. */
export type StatsAtHeight = ActionStats & Readonly<{ unclear: number }>;

/** How many actions there were on the chain at a height, by type, status and expiry: the totals of the list. */
export async function statsAtHeight(
  reading: Reading,
  { type, from, to, height }: StatsFilter & AtHeight,
): Promise<StatsAtHeight> {
  const isWhole = [type, from, to].every((one) => one === undefined);
  if (isWhole && positionOf(reading, 'actions') === undefined) return await statsOfAll(reading, height);
  const [counts] = await run<StatsAtHeight>(reading, {
    shape: `stats at height ${relationName(reading)} ${type !== undefined} ${from !== undefined} ${to !== undefined}`,
    text: () => sql`
      select ${countsOf} from (
        select ${shownOfRow} from ${rowsAtHeight(reading)} where s.registered is not false
          ${type === undefined ? sql`` : sql`and m.type = ${slot('type')}::text collate "C"`}
          ${from === undefined ? sql`` : sql`and m.created_at >= ${slot('from')}::text collate "C"`}
          ${to === undefined ? sql`` : sql`and m.created_at <= ${slot('to')}::text collate "C"`}
      ) action`,
    given: { type, from, to, ...heightInput(reading, height) },
  });
  if (!counts) throw new Error('Counts have one row, whatever the tables hold');
  return counts;
}

/** Columns of a row that is counted. */
const shownOfRow = sql`${isUnclear('steps')} as unclear, m.type, ${stateAtHeight} as state,
  coalesce(m.expired_height <= ${slot('atHeight')}::int8, false) as expired`;

const counted = (column: string, value: string) =>
  sql`count(*) filter (where ${sql.id(column)} = ${sql.lit(value)}) as ${sql.id(value)}`;

const countsOf = sql`count(*) filter (where unclear) as unclear, count(*) as total, ${counted('type', 'cascade')},
  ${counted('type', 'sense')}, ${counted('state', 'registered')}, ${counted('state', 'finalized')},
  ${counted('state', 'approved')}, count(*) filter (where expired) as expired`;

/** The counts of all actions: rows are read of the blocks alone that the height divides. */
async function statsOfAll(reading: Reading, height: number): Promise<StatsAtHeight> {
  const kinds = [...actionTypes.map((type) => ({ type })), ...actionStates.map((state) => ({ state }))];
  const ofKinds = kinds.map((one) => ({ name: Object.values(one).join(), letters: kindsIn(one) }));
  const sumOf = (name: string) => sql`(open.${sql.id(name)} + settled.${sql.id(name)})::int8 as ${sql.id(name)}`;
  const settledOf = ({ name, letters }: (typeof ofKinds)[number]) => sql`coalesce(sum(n) filter (
    where kind in (${sql.join(letters.map((letter) => sql.lit(letter)))})), 0) as ${sql.id(name)}`;
  const [counts] = await run<StatsAtHeight>(reading, {
    shape: `stats of all at height ${relationName(reading)}`,
    text: () => sql`
      select open.unclear, ${sumOf('total')}, ${sql.join(ofKinds.map(({ name }) => sumOf(name)))},
        (open.expired + ${settledExpired(reading)})::int8 as expired
      from (select ${countsOf} from (
        select ${shownOfRow} from ${withSteps(openRows(reading))} where s.registered is not false) action) open
      cross join (
        select coalesce(sum(n), 0) as total, ${sql.join(ofKinds.map(settledOf))}
        from (${settledCounts(reading, { ofKinds: false })}) counters) settled`,
    given: { atHeight: height, ...blocksInput(await blocksAtHeight(reading, height), {}) },
  });
  if (!counts) throw new Error('Counts have one row, whatever the tables hold');
  return counts;
}

/**
 * The accounts that finalized an action by the height, with the index `place` of their owner; whether the action was
 * `finalized` by then where the account's own height does not tell.
 */
function finalizedByOwn(reading: Reading): RawBuilder<unknown> {
  const own = rowRangesFrom('own');
  if (positionOf(reading, 'actions') !== undefined)
    return sql`select own.place, m.type, a.since_height, s.finalized from ${rowsAtHeight(reading)}
      cross join lateral ${accountsOfRow} a join ${own} own on own.account = a.account
      where s.registered is not false and ${isOwnedAtHeight('own')}`;
  return sql`select own.place, a.type, a.since_height, unknown.finalized from ${own} own
    join ${sql.id(reading.schemas.actions, 'action_accounts')} a on a.account = own.account collate "C"
    left join lateral (
      select s.registered is not false and s.finalized as finalized from ${rowsAtHeight(reading)}
      where a.since_height is null and m.id = a.id) unknown on true
    where ${isOwnedAtHeight('own')}`;
}

/** What the SuperNodes of an answer finalized by a height, and how many actions there are that may count as well. */
export type NodeStatsAtHeight = Readonly<{ nodes: readonly NodeActions[]; unclear: number }>;

type OwnCount = Readonly<{ place: number | null; cascade: number; sense: number; unclear: number }>;

/** How many actions each of some operators finalized by a height, as accounts belonged to them; in their order. */
export async function nodeStatsAtHeight(
  reading: Reading,
  { operators, height }: AtHeight & Readonly<{ operators: readonly string[] }>,
): Promise<NodeStatsAtHeight> {
  const counts = new Map(operators.map((id) => [id, { cascade: 0, sense: 0 }]));
  const owned: Owned[] = ownedIn(
    await claimsAt(reading, positionOf(reading, 'supernodes') ?? reading.followed.supernodes.sequence),
  );
  const isSure = sql`coalesce(done.finalized, done.since_height is not null)`;
  const of = (type: string) => sql`count(*) filter (where done.type = ${sql.lit(type)} and ${isSure})`;
  const rows = await run<OwnCount>(reading, {
    shape: `node stats at height ${relationName(reading)} ${reading.schemas.supernodes}`,
    text: () => sql`
      select (done.place - 1)::int4 as place, ${of('cascade')} as cascade, ${of('sense')} as sense,
        count(*) filter (where not ${isSure}) as unclear
      from (${finalizedByOwn(reading)}) done where done.finalized is not false group by done.place`,
    given: { ...ownersInput(owned.map(ownershipRange)), ...heightInput(reading, height) },
  });
  for (const { place, cascade, sense } of rows) {
    const one = counts.get(owned[place ?? -1]?.operator ?? '');
    if (!one) continue;
    one.cascade += cascade;
    one.sense += sense;
  }
  return {
    nodes: [...counts].map(([id, { cascade, sense }]) => ({ id, cascade, sense })),
    unclear: rows.reduce((sum, { unclear }) => sum + unclear, 0),
  };
}
