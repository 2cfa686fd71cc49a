import { type RawBuilder, sql } from 'kysely';
import { covered, stretchesAsRows, stretchOf } from './action-filter.ts';
import { partsOf, rowsIn, tallies } from './action-total.ts';
import { finalizedName } from './counter-names.ts';
import { type Owned, ownedIn } from './ownership.ts';
import type { Reading } from './reading.ts';
import type { SuperNodeAccountRow } from './tables.ts';
import { countersBetween, namesAsRows } from './tallies.ts';

/** How many actions a SuperNode finalized. */
export type NodeActions = Readonly<{ id: string; cascade: number; sense: number }>;

/** Holds for an account that never was anybody else's and has no end: all of it is its operator's, whatever the height. */
const undisputed = sql`count(*) = 1 and bool_and(from_height = 0 and until_height is null)`;

/**
 * What every listed SuperNode finalized, zeros too, ordered by id bytewise; an action is the node's whose account it was then.
 *
 * At one height an operator has one account, so that no action counts twice.
 */
export async function actionStatsByNode(reading: Reading): Promise<NodeActions[]> {
  const counts = new Map((await ofUndisputed(reading)).map(({ id, cascade, sense }) => [id, { cascade, sense }]));
  const owned = ownedIn(await disputed(reading)).filter(({ operator }) => counts.has(operator));
  for (const type of ['cascade', 'sense'] as const) {
    const totals = await totalsOf(reading, owned, type);
    for (const [at, { operator }] of owned.entries()) {
      const of = counts.get(operator);
      if (of) of[type] += totals.get(at) ?? 0;
    }
  }
  return [...counts].map(([id, { cascade, sense }]) => ({ id, cascade, sense }));
}

/** Every listed node with what its undisputed accounts finalized. */
async function ofUndisputed(reading: Reading): Promise<NodeActions[]> {
  const { schemas, db } = reading;
  const { rows } = await sql<NodeActions>`
    select s.id, coalesce(sum(cascade.n), 0)::int8 as cascade, coalesce(sum(sense.n), 0)::int8 as sense
    from ${sql.id(schemas.supernodes, 'supernodes')} s
    left join (
      select min(operator) as operator, account from ${sql.id(schemas.supernodes, 'supernode_accounts')}
      group by account having ${undisputed}
    ) own on own.operator = s.id
    left join ${finalized(reading, 'cascade')} cascade on cascade.account = own.account
    left join ${finalized(reading, 'sense')} sense on sense.account = own.account
    where not s.removed group by s.id order by s.id
  `.execute(db);
  return [...rows];
}

/** What every account finalized of a type, as rows `account` and `n`. */
function finalized({ schemas }: Reading, type: string): RawBuilder<unknown> {
  const start = finalizedName('', type);
  return sql`(
    select substr(name, ${start.length + 1}::int4) as account, n from ${sql.id(schemas.actions, 'counters')}
    where name >= ${start} and name < ${`${start}~`} offset 0
  )`;
}

/** The claims on all other accounts. */
async function disputed({ db, schemas }: Reading): Promise<SuperNodeAccountRow[]> {
  const claims = sql.id(schemas.supernodes, 'supernode_accounts');
  const { rows } = await sql<SuperNodeAccountRow>`
    select * from ${claims} where account in (select account from ${claims} group by account having not (${undisputed}))
  `.execute(db);
  return [...rows];
}

/** How many actions of a type each turn of an account finalized, by its place in the list. */
async function totalsOf(reading: Reading, owned: readonly Owned[], type: string): Promise<Map<number, number>> {
  const stretches = (await covered(reading, owned.map(stretchOf))).map((stretch, at) => ({ stretch, at }));
  const tallied = stretches.flatMap(({ stretch, at }) => tallies(stretch).map((names) => ({ names, at })));
  const parts = stretches.flatMap(({ stretch, at }) => partsOf(stretch).map((ids) => ({ stretch, ids, at })));
  const { rows } = await sql<{ at: number; n: number }>`
    select at, sum(n)::int8 as n from (
      select (${tallied.map(({ at }) => at)}::int4[])[run.place] as at, counter.n
      from ${countersBetween(reading, namesAsRows(tallied.map(({ names }) => names)), { type })}
      union all
      select (${parts.map(({ at }) => at)}::int4[])[own.place] as at, 1 as n
      from ${stretchesAsRows(
        parts.map(({ stretch }) => stretch),
        parts.map(({ ids }) => ids),
      )} own cross join lateral (${rowsIn(reading, { type, supernode: { account: '' } })}) m
    ) counted group by at
  `.execute(reading.db);
  return new Map(rows.map(({ at, n }) => [at, n]));
}
