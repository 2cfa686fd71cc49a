import { type RawBuilder, sql } from 'kysely';
import type { ActionFilter } from './action-filter.ts';
import { type Owned, ownedIn } from './ownership.ts';
import { supernodeTable } from '../fleet/fleet-tables.ts';
import { periods } from '../fleet/supernodes.ts';
import type { Reading } from '../reading.ts';
import { type PastTable, positionInput, positionOf, relationAt, supersededAt } from '../relation.ts';
import { run, slot } from '../statement.ts';
import type { SuperNodeAccountRow, SuperNodeRow } from '../tables.ts';
import { type OwnershipRange, ownershipRange, ownershipRangesOf, withIdRanges } from './totals/ownership-ranges.ts';

const ofNodes: PastTable = { projection: 'supernodes', table: supernodeTable };

type Claiming = Pick<SuperNodeRow, 'id' | 'account' | 'accounts'>;

/** The claims of all operators on accounts, as of the reading's position: each follows from one SuperNode's record. */
export async function claimsAt(reading: Reading, at: number): Promise<SuperNodeAccountRow[]> {
  const nodes = await run<Claiming>(reading, {
    shape: `claims at ${reading.schemas.supernodes}`,
    text: () => sql`select id, account, accounts from ${relationAt(reading, ofNodes)} node`,
    given: positionInput(reading, 'supernodes', at),
  });
  return nodes.flatMap((node) => periods(node));
}

/** Who owned what as of a position, which no later fact changes: by reader, the ones that were read last. */
const cache = new WeakMap<object, Map<string, readonly Owned[]>>();
const mostCached = 1000;

/**
 * The accounts that ever were an operator's as of a position, and when.
 *
 * Kept in memory, so that the pages of one instant, and those of instants between which no SuperNode changed, read
 * them once.
 */
export async function ownedByAt(reading: Reading, operator: string, at: number): Promise<readonly Owned[]> {
  const { reader, schemas, followed } = reading;
  const key = JSON.stringify([schemas.supernodes, followed.supernodes.incarnation, operator, at]);
  const cached = cache.get(reader) ?? new Map<string, readonly Owned[]>();
  cache.set(reader, cached);
  const known = cached.get(key);
  if (known) return known;
  const owned = await readOwned(reading, operator, at);
  cached.set(key, owned);
  for (const oldest of cached.keys()) {
    if (cached.size <= mostCached) break;
    cached.delete(oldest);
  }
  return owned;
}

async function readOwned(reading: Reading, operator: string, at: number): Promise<Owned[]> {
  const { supernodes } = reading.schemas;
  const [live, past] = ['supernodes', 'supernodes_past'].map((table) => sql.id(supernodes, table));
  const upTo = sql`id = ${slot('operator')}::text collate "C" and position <= ${slot('at')}::int8`;
  const own = sql`(
    select account, accounts from ${live} where ${upTo} and not removed
    union all select account, accounts from ${past} where ${upTo} and until > ${slot('at')}::int8)`;
  const accounts = sql`array(
    select account from ${own} node
    union select listed ->> 'account' from ${own} node, jsonb_array_elements(accounts) listed)`;
  const nodes = await run<Claiming>(reading, {
    shape: `owned at ${supernodes}`,
    text: () => claimsText(reading, accounts),
    given: { operator, ...positionInput(reading, 'supernodes', at) },
  });
  const owned = nodes.filter(({ id }) => id === operator).flatMap((node) => periods(node));
  const claims = claimsIn(
    nodes,
    owned.map(({ account }) => account),
  );
  return ownedIn(claims).filter((one) => one.operator === operator);
}

/** The claims of all operators on some accounts, as of a position. */
export async function claimsOn(
  reading: Reading,
  accounts: readonly string[],
  at: number,
): Promise<SuperNodeAccountRow[]> {
  const nodes = await run<Claiming>(reading, {
    shape: `claims on ${reading.schemas.supernodes}`,
    text: () => claimsText(reading, slot('accounts')),
    given: { accounts, ...positionInput(reading, 'supernodes', at) },
  });
  return claimsIn(nodes, accounts);
}

const claimsIn = (nodes: readonly Claiming[], accounts: readonly string[]): SuperNodeAccountRow[] =>
  nodes.flatMap((node) => periods(node)).filter(({ account }) => accounts.includes(account));

/** The records at the position that claim one of some accounts; live ones are found by what they claim. */
function claimsText(reading: Reading, accounts: RawBuilder<unknown>): RawBuilder<unknown> {
  const { supernodes } = reading.schemas;
  const wanted = sql`wanted as materialized (select ${accounts}::text[] collate "C" as accounts)`;
  const all = sql`(select accounts from wanted)::text[]`;
  return sql`
    with ${wanted}
    select id, account, accounts from ${sql.id(supernodes, 'supernodes')}
    where position <= ${slot('at')}::int8 and not removed and id = any (array(
      select operator from ${sql.id(supernodes, 'supernode_accounts')} where account = any (${all})))
    union all select id, account, accounts from ${supersededAt(reading, ofNodes)} node
    where account = any (${all}) or jsonb_path_query_array(accounts, '$[*].account') ?| ${all}`;
}

/** The ownership ranges of a filter: for totals of the head, and for lists of live rows. */
export type RangesAt = Readonly<{ counted: readonly OwnershipRange[]; listed: readonly OwnershipRange[] }>;

/**
 * Finds the ownership ranges of a filter as of the reading's position.
 *
 * Ids are bounded only by heights of registration, which are the same in every row of an action that knows one.
 */
export async function ownershipRangesAt(reading: Reading, filter: ActionFilter): Promise<RangesAt> {
  const { supernode, fromHeight, toHeight } = filter;
  const at = supernode && 'operator' in supernode ? positionOf(reading, 'supernodes') : undefined;
  if (!supernode || !('operator' in supernode) || at === undefined) {
    const ranges = await ownershipRangesOf(reading, filter);
    return { counted: ranges, listed: await boundedByRegistration(reading, ranges, { fromHeight, toHeight }) };
  }
  const owned = (await ownedByAt(reading, supernode.operator, at)).map(ownershipRange);
  return {
    counted: await withIdRanges(reading, owned, filter),
    listed: await boundedByRegistration(reading, owned, { fromHeight, toHeight }),
  };
}

type Heights = Pick<ActionFilter, 'fromHeight' | 'toHeight'>;

async function boundedByRegistration(
  reading: Reading,
  ranges: readonly OwnershipRange[],
  heights: Heights,
): Promise<OwnershipRange[]> {
  const anyFinalization = ranges.map(({ scope, address }) => ({
    scope,
    address,
    finalized: { from: 0, to: Infinity },
  }));
  const bounded = await withIdRanges(reading, anyFinalization, heights);
  return bounded.map((range, place) => ({ ...range, finalized: ranges[place]?.finalized ?? range.finalized }));
}
