import { type RawBuilder, sql } from 'kysely';
import { countsIn, tallies } from './totals/action-total.ts';
import { isOfType, kindsGiven, kindsOf } from './totals/branches.ts';
import { finalizedName } from './totals/counter-names.ts';
import { type Owned, ownedIn } from './ownership.ts';
import type { Reading } from '../reading.ts';
import type { SuperNodeAccountRow } from '../tables.ts';
import { run, slot } from '../statement.ts';
import { covered, stretchesAsRows, stretchesIn, stretchOf } from './totals/ownership-ranges.ts';
import { countersBetween, namesIn } from './totals/block-counters.ts';

/** How many actions a SuperNode finalized. */
export type NodeActions = Readonly<{ id: string; cascade: number; sense: number }>;

/** Holds for an account that never was anybody else's and has no end: all of it is its operator's, whatever the height. */
const undisputedAccount = sql`count(*) = 1 and bool_and(from_height = 0 and until_height is null)`;

/**
 * What every listed SuperNode finalized, zeros too, ordered by id bytewise; an action is the node's whose account it was then.
 *
 * At one height an operator has one account, so that no action counts twice.
 */
export async function actionStatsByNode(reading: Reading): Promise<NodeActions[]> {
  const undisputed = await ofUndisputed(reading);
  const counts = new Map(undisputed.map(({ id, cascade, sense }) => [id, { cascade, sense }]));
  const owned = ownedIn(await disputed(reading)).filter(({ operator }) => counts.has(operator));
  for (const { at, cascade, sense } of await turnTotals(reading, owned)) {
    const of = counts.get(owned[at]?.operator ?? '');
    if (!of) continue;
    of.cascade += cascade;
    of.sense += sense;
  }
  return [...counts].map(([id, { cascade, sense }]) => ({ id, cascade, sense }));
}

/** Every listed node with what its undisputed accounts finalized. */
async function ofUndisputed(reading: Reading): Promise<NodeActions[]> {
  const { schemas, db } = reading;
  const [cascade, sense] = [finalizedName('cascade', ''), finalizedName('sense', '')];
  const { rows } = await sql<NodeActions>`
    select s.id, coalesce(sum(done.cascade), 0)::int8 as cascade, coalesce(sum(done.sense), 0)::int8 as sense
    from ${sql.id(schemas.supernodes, 'supernodes')} s
    left join (
      select min(operator) as operator, account from ${sql.id(schemas.supernodes, 'supernode_accounts')}
      group by account having ${undisputedAccount}
    ) own on own.operator = s.id
    left join (${finalized(reading, cascade, sql`n as cascade, 0 as sense`)}
      union all ${finalized(reading, sense, sql`0 as cascade, n as sense`)}) done on done.account = own.account
    where not s.removed group by s.id order by s.id
  `.execute(db);
  return [...rows];
}

/** The counters whose name begins so, as rows `account` and what is made of their `n`. */
function finalized({ schemas }: Reading, start: string, counts: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(
    select substr(name, ${start.length + 1}::int4) as account, ${counts} from ${sql.id(schemas.actions, 'counters')}
    where name >= ${start} and name < ${`${start}~`} offset 0
  )`;
}

/** The claims on all other accounts. */
async function disputed({ db, schemas }: Reading): Promise<SuperNodeAccountRow[]> {
  const claims = sql.id(schemas.supernodes, 'supernode_accounts');
  const { rows } = await sql<SuperNodeAccountRow>`
    select * from ${claims} where account in (select account from ${claims} group by account having not (${undisputedAccount}))
  `.execute(db);
  return [...rows];
}

type TurnTotal = Readonly<{ at: number; cascade: number; sense: number }>;

/** How many actions each turn of an account finalized, by its place in the list. */
async function turnTotals(reading: Reading, owned: readonly Owned[]): Promise<readonly TurnTotal[]> {
  const stretches = (await covered(reading, owned.map(stretchOf))).map((stretch, at) => ({ stretch, at }));
  const tallied = stretches.flatMap(({ stretch, at }) => tallies(stretch).map((names) => ({ names, at })));
  const parts = stretches.flatMap(({ stretch, at }) =>
    [...(stretch.cover?.parts ?? []), ...(stretch.cover?.inner ?? [])].map((ids) => ({ stretch, ids, at })),
  );
  const shape = { supernode: true };
  const text = () => sql`
    select at, coalesce(sum(n) filter (where is_cascade), 0)::int8 as cascade,
      coalesce(sum(n) filter (where is_sense), 0)::int8 as sense
    from (
      select (${slot('tallied.at')}::int4[])[run.place] as at,
        counter.name like '%,cascade,%' as is_cascade, counter.name like '%,sense,%' as is_sense, counter.n
      from ${countersBetween(reading, 'tallied')}
      union all
      select (${slot('parts.at')}::int4[])[own.place], ${isOfType('cascade')}, ${isOfType('sense')}, found.n
      from ${stretchesAsRows('parts')} own cross join lateral (
        ${countsIn(reading, kindsOf(shape), { shape, among: 'part' })}) found
    ) counted group by at
  `;
  const given = {
    ...kindsGiven({}),
    ...namesIn(
      'tallied',
      tallied.map(({ names }) => names),
    ),
    'tallied.at': tallied.map(({ at }) => at),
    ...stretchesIn('parts', parts),
    'parts.at': parts.map(({ at }) => at),
  };
  return await run<TurnTotal>(reading, { shape: `turns ${reading.schemas.actions}`, text, given });
}
