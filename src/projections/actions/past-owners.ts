import { sql } from 'kysely';
import type { ActionFilter } from './action-filter.ts';
import { type Owned, ownedIn } from './ownership.ts';
import { supernodeTable } from '../fleet/fleet-tables.ts';
import { periods } from '../fleet/supernodes.ts';
import type { Reading } from '../reading.ts';
import { positionInput, positionOf, relationAt } from '../relation.ts';
import { run } from '../statement.ts';
import type { SuperNodeAccountRow, SuperNodeRow } from '../tables.ts';
import { type OwnershipRange, ownershipRange, ownershipRangesOf, withIdRanges } from './totals/ownership-ranges.ts';

type Claiming = Pick<SuperNodeRow, 'id' | 'account' | 'accounts'>;

/** The claims of all operators on accounts, as of the reading's position: each follows from one SuperNode's record. */
export async function claimsAt(reading: Reading, at: number): Promise<SuperNodeAccountRow[]> {
  const relation = () => relationAt(reading, { projection: 'supernodes', table: supernodeTable });
  const nodes = await run<Claiming>(reading, {
    shape: `claims at ${reading.schemas.supernodes}`,
    text: () => sql`select id, account, accounts from ${relation()} node`,
    given: positionInput(reading, 'supernodes', at),
  });
  return nodes.flatMap((node) => periods(node));
}

/** The accounts that ever were an operator's as of a position, and when. */
export async function ownedByAt(reading: Reading, operator: string, at: number): Promise<Owned[]> {
  const claims = await claimsAt(reading, at);
  const own = new Set(claims.filter((claim) => claim.operator === operator).map(({ account }) => account));
  return ownedIn(claims.filter(({ account }) => own.has(account))).filter((owned) => owned.operator === operator);
}

/** The ownership ranges of a filter: for totals of the head, and for lists of live rows. */
type RangesAt = Readonly<{ counted: readonly OwnershipRange[]; listed: readonly OwnershipRange[] }>;

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
