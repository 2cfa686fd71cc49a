import { sql } from 'kysely';
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

/** The accounts that ever were an operator's as of a position, and when. */
export async function ownedByAt(reading: Reading, operator: string, at: number): Promise<Owned[]> {
  const { supernodes } = reading.schemas;
  const [live, past] = ['supernodes', 'supernodes_past'].map((table) => sql.id(supernodes, table));
  const upTo = sql`id = ${slot('operator')}::text collate "C" and position <= ${slot('at')}::int8`;
  const own = await run<Claiming>(reading, {
    shape: `node at ${supernodes}`,
    text: () => sql`
      select id, account, accounts from ${live} where ${upTo} and not removed
      union all select id, account, accounts from ${past} where ${upTo} and until > ${slot('at')}::int8`,
    given: { operator, at },
  });
  const accounts = own.flatMap((node) => periods(node)).map(({ account }) => account);
  return ownedIn(await claimsOn(reading, accounts, at)).filter((owned) => owned.operator === operator);
}

/** The claims of all operators on some accounts, as of a position; live records are found by what they claim. */
export async function claimsOn(
  reading: Reading,
  accounts: readonly string[],
  at: number,
): Promise<SuperNodeAccountRow[]> {
  const { supernodes } = reading.schemas;
  const isAny = sql`= any (${slot('accounts')}::text[] collate "C")`;
  const nodes = await run<Claiming>(reading, {
    shape: `claims on ${supernodes}`,
    text: () => sql`
      select id, account, accounts from ${sql.id(supernodes, 'supernodes')}
      where position <= ${slot('at')}::int8 and not removed and id = any (array(
        select operator from ${sql.id(supernodes, 'supernode_accounts')} where account ${isAny}))
      union all select id, account, accounts from ${supersededAt(reading, ofNodes)} node
      where account ${isAny} or jsonb_path_query_array(accounts, '$[*].account') ?| ${slot('accounts')}::text[]`,
    given: { accounts, ...positionInput(reading, 'supernodes', at) },
  });
  return nodes.flatMap((node) => periods(node)).filter(({ account }) => accounts.includes(account));
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
