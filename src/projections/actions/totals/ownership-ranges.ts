import { type RawBuilder, sql } from 'kysely';
import type { ActionFilter } from '../action-filter.ts';
import { type Owned, ownedBy } from '../ownership.ts';
import type { Reading } from '../../reading.ts';
import { type Input, slot } from '../../statement.ts';
import { type CounterRange, counterRanges, type CounterScope, smallestSpan, completeRange } from './block-counters.ts';
import { extentsOf } from './height-extents.ts';
import { type Bound, type Heights, type IdRanges, idRangesWithin, type Ids } from './id-ranges.ts';

/**
 * A filter split by owner: the actions of one scope, and of an account those that were finalized between some heights.
 *
 * Two of them never share an action. `ranges` are the ids that can match; without them all ids do.
 */
export type OwnershipRange = CounterScope & Readonly<{ finalized: Heights; ranges?: IdRanges }>;

const anyHeight: Heights = { from: 0, to: Infinity };

/** Finds the ownership ranges of a filter. */
export async function ownershipRangesOf(reading: Reading, filter: ActionFilter): Promise<OwnershipRange[]> {
  const { creator, supernode } = filter;
  if (!supernode) {
    const scope: CounterScope =
      creator === undefined ? { scope: 'all', address: '' } : { scope: 'creator', address: creator };
    return await withIdRanges(reading, [{ ...scope, finalized: anyHeight }], filter);
  }
  const owned =
    'account' in supernode
      ? [{ account: supernode.account, ...anyHeight }]
      : await ownedBy(reading, supernode.operator);
  return await withIdRanges(reading, owned.map(ownershipRange), filter);
}

/** The actions that an account finalized while an operator owned it. */
export const ownershipRange = ({ account, from, to }: Omit<Owned, 'operator'>): OwnershipRange => ({
  scope: 'account',
  address: account,
  finalized: { from, to },
});

/** Adds the ids that can match, where heights are bounded. */
export async function withIdRanges(
  reading: Reading,
  owners: readonly OwnershipRange[],
  { fromHeight, toHeight }: Pick<ActionFilter, 'fromHeight' | 'toHeight'> = {},
): Promise<OwnershipRange[]> {
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
  const extents = owners.some(isWithin) ? await extentsOf(reading, 'finalized') : [];
  return owners.map((owner) => {
    const finalized = isWithin(owner) ? [{ extents, heights: owner.finalized, unknownIsLast: true }] : [];
    const bounds: Bound[] = [...registered, ...finalized];
    return bounds.length === 0 ? owner : { ...owner, ranges: idRangesWithin(bounds, smallestSpan(owner)) };
  });
}

const isWithin = ({ finalized: { from, to } }: OwnershipRange) => from > 0 || to < Infinity;

/** The counters that hold what needs not be counted row by row. */
export const countersOf = (owner: OwnershipRange): CounterRange[] =>
  owner.ranges ? owner.ranges.whole.flatMap((blocks) => counterRanges(owner, blocks)) : [completeRange(owner)];

/** Rows to read: those of an ownership range among some ids, or among all where `ids` is undefined. */
export type RowRange = Readonly<{ owner: OwnershipRange; ids: Ids | undefined }>;

/**
 * The row ranges in a slot as rows: `account`, the ids `low` and `high`, the heights `since` and `until`, null where
 * there is no bound, and `place`, the index of the range.
 */
export function rowRangesFrom(of: string): RawBuilder<unknown> {
  return sql`(select * from unnest(
    ${slot(`${of}.account`)}::text[], ${slot(`${of}.low`)}::numeric[], ${slot(`${of}.high`)}::numeric[],
    ${slot(`${of}.since`)}::int8[], ${slot(`${of}.until`)}::int8[]
  ) with ordinality as given (account, low, high, since, until, place))`;
}

/** Fills the slot `of` with row ranges. */
export const rowRangesIn = (of: string, ranges: readonly RowRange[]): Input => ({
  [`${of}.account`]: ranges.map(({ owner }) => owner.address),
  [`${of}.low`]: ranges.map(({ ids }) => ids?.low ?? null),
  [`${of}.high`]: ranges.map(({ ids }) => ids?.high ?? null),
  [`${of}.since`]: ranges.map(({ owner: { finalized } }) => (finalized.from > 0 ? finalized.from : null)),
  [`${of}.until`]: ranges.map(({ owner: { finalized } }) => (finalized.to < Infinity ? finalized.to : null)),
});
