import { type RawBuilder, sql } from 'kysely';
import { type CountedFrom, changesAt, finalizedHeight, nearerEnd } from './action-rows.ts';
import { countedSince, type NodeActions } from './node-counts.ts';
import { type Owned, ownedIn } from './ownership.ts';
import { claimsAt } from './past-owners.ts';
import { supernodeTable } from '../fleet/fleet-tables.ts';
import { positionInput, positionOf, relationAt } from '../relation.ts';
import type { Reading } from '../reading.ts';
import { run, slot } from '../statement.ts';
import type { SuperNodeAccountRow } from '../tables.ts';
import { countsOf } from './totals/action-total.ts';
import { countersIn, rangesIn, completeCounters } from './totals/block-counters.ts';
import { isOfType, kindsInput, kindsOf } from './totals/branches.ts';
import { countersOf, ownershipRange, rowRangesFrom, rowRangesIn, withIdRanges } from './totals/ownership-ranges.ts';

/**
 * True for an account with a single claim, from height 0 and without an end: all of it is its operator's, whatever the
 * height.
 */
const undisputedAccount = sql`count(*) = 1 and bool_and(from_height = 0 and until_height is null)`;

/** Adds up rows `kind` and `n`. */
const sumOfType = (type: 'cascade' | 'sense'): RawBuilder<unknown> =>
  sql`coalesce(sum(n) filter (where ${isOfType(type)}), 0)::int8`;

/**
 * What every listed SuperNode finalized, zeros too, ordered by id bytewise; an action is the node's whose account it
 * was then.
 *
 * At one height an operator has one account, so that no action counts twice.
 */
export async function actionStatsByNode(reading: Reading): Promise<readonly NodeActions[]> {
  const at = positionOf(reading, 'actions');
  if (at !== undefined) return await pastStatsByNode(reading, at);
  return await countedSince(reading, () => countAll(reading));
}

async function countAll(reading: Reading): Promise<NodeActions[]> {
  const undisputed = await ofUndisputed(reading);
  const counts = new Map(undisputed.map(({ id, cascade, sense }) => [id, { cascade, sense }]));
  const owned = ownedIn(await disputed(reading)).filter(({ operator }) => counts.has(operator));
  for (const { place, cascade, sense } of await countOwned(reading, owned)) {
    const of = counts.get(owned[place]?.operator ?? '');
    if (!of) continue;
    of.cascade += cascade;
    of.sense += sense;
  }
  return [...counts].map(([id, { cascade, sense }]) => ({ id, cascade, sense }));
}

/** Every listed node with what its undisputed accounts finalized. */
async function ofUndisputed(reading: Reading): Promise<NodeActions[]> {
  const { schemas, db } = reading;
  const { rows } = await sql<NodeActions>`
    select s.id, ${sumOfType('cascade')} as cascade, ${sumOfType('sense')} as sense
    from ${sql.id(schemas.supernodes, 'supernodes')} s
    left join (
      select min(operator) as operator, account from ${sql.id(schemas.supernodes, 'supernode_accounts')}
      group by account having ${undisputedAccount}
    ) own on own.operator = s.id
    left join (${completeCounters(reading, 'account')}) done on done.address = own.account
    where not s.removed group by s.id order by s.id
  `.execute(db);
  return [...rows];
}

/** The claims on all other accounts. */
async function disputed({ db, schemas }: Reading): Promise<SuperNodeAccountRow[]> {
  const claims = sql.id(schemas.supernodes, 'supernode_accounts');
  const { rows } = await sql<SuperNodeAccountRow>`
    select * from ${claims} where account in (select account from ${claims} group by account having not (${undisputedAccount}))
  `.execute(db);
  return [...rows];
}

type OwnedCount = Readonly<{ place: number; cascade: number; sense: number }>;

/** How many actions accounts finalized while an operator owned them, by index in the list. */
async function countOwned(reading: Reading, owned: readonly Owned[]): Promise<readonly OwnedCount[]> {
  const owners = (await withIdRanges(reading, owned.map(ownershipRange))).map((owner, position) => ({
    owner,
    place: position,
  }));
  const counters = owners.flatMap(({ owner, place }) => countersOf(owner).map((range) => ({ range, place })));
  const rows = owners.flatMap(({ owner, place }) =>
    [...(owner.ranges?.parts ?? []), ...(owner.ranges?.inner ?? [])].map((ids) => ({ owner, ids, place })),
  );
  const shape = { supernode: true };
  const text = () => sql`
    select place, ${sumOfType('cascade')} as cascade, ${sumOfType('sense')} as sense
    from (
      select (${slot('counters.owner')}::int4[])[counter.place] as place, counter.kind, counter.n
      from (${countersIn(reading, 'counters', { ofKinds: false })}) counter
      union all
      select (${slot('rows.owner')}::int4[])[own.place], found.kind::text, found.n
      from ${rowRangesFrom('rows')} own cross join lateral (
        ${countsOf(reading, kindsOf(shape), { shape, among: 'part' })}) found
    ) counted group by place
  `;
  const input = {
    ...kindsInput({}),
    ...rangesIn(
      'counters',
      counters.map(({ range }) => range),
    ),
    'counters.owner': counters.map(({ place }) => place),
    ...rowRangesIn('rows', rows),
    'rows.owner': rows.map(({ place }) => place),
  };
  return await run<OwnedCount>(reading, { shape: `owned actions ${reading.schemas.actions}`, text, given: input });
}

/** The same as of a position: what is counted at the nearer end of history, and what leads from there. */
async function pastStatsByNode(reading: Reading, at: number): Promise<NodeActions[]> {
  const nodesAt = positionOf(reading, 'supernodes') ?? 0;
  const claims = await claimsAt(reading, nodesAt);
  const nodes = await idsAt(reading, nodesAt);
  const counts = new Map(nodes.map((id) => [id, { cascade: 0, sense: 0 }]));
  const owned = ownedIn(claims).filter(({ operator }) => counts.has(operator));
  const end = nearerEnd(reading, at);
  const counted = end === 'head' ? await countOwned(reading, owned) : [];
  for (const { place, cascade, sense } of [...counted, ...(await changedOwned(reading, { owned, at, end }))]) {
    const of = counts.get(owned[place]?.operator ?? '');
    if (!of) continue;
    of.cascade += cascade;
    of.sense += sense;
  }
  return [...counts].map(([id, { cascade, sense }]) => ({ id, cascade, sense }));
}

async function idsAt(reading: Reading, at: number): Promise<string[]> {
  const rows = await run<{ id: string }>(reading, {
    shape: `ids at ${reading.schemas.supernodes}`,
    text: () =>
      sql`select id from ${relationAt(reading, { projection: 'supernodes', table: supernodeTable })} node order by id`,
    given: positionInput(reading, 'supernodes', at),
  });
  return rows.map(({ id }) => id);
}

type Changed = Readonly<{ owned: readonly Owned[]; at: number; end: CountedFrom }>;

/** What leads from the counts at one end of history to those of a position, by index in the list of owners. */
async function changedOwned(reading: Reading, { owned, at, end }: Changed): Promise<readonly OwnedCount[]> {
  const text = () => sql`
    select (own.place - 1)::int4 as place, ${sumOfType('cascade')} as cascade, ${sumOfType('sense')} as sense
    from (
      select m.sign as n, m.kind::text as kind, ${finalizedHeight} as at_height, account
      from ${changesAt(reading, end, ['kind', 'height', 'accounts', 'finalize_tx'])} m
      cross join lateral jsonb_array_elements_text(m.accounts) account
    ) done join ${rowRangesFrom('own')} own on own.account = done.account
    where (own.since is null or done.at_height is null or done.at_height >= own.since)
      and (own.until is null or done.at_height <= own.until)
    group by own.place`;
  const owners = owned.map((one) => ({ owner: ownershipRange(one), ids: undefined }));
  return await run<OwnedCount>(reading, {
    shape: `owned actions at ${reading.schemas.actions} ${end}`,
    text,
    given: { ...rowRangesIn('own', owners), ...positionInput(reading, 'actions', at) },
  });
}
