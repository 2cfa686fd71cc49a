import type { Mark } from '../relation.ts';
import { smallestSpan } from './totals/block-counters.ts';
import { idsPerBlock } from './totals/height-extents.ts';
import { rangesBefore } from './totals/id-ranges.ts';
import type { OwnershipRange } from './totals/ownership-ranges.ts';

/** No action of the past has an id beyond the mark. */
export const endOf = ({ greatest }: Mark): string => (greatest === null ? '0' : String(BigInt(greatest) + 1n));

/** Of more ids the rows are not read one by one. */
const mostUnsettled = 8n * BigInt(idsPerBlock);

/**
 * The block of ids before which all actions of the head were there at a mark already; undefined where ids came in
 * another order than events, so that too many others may have been there as well.
 */
export function settledBefore(mark: Mark): bigint | undefined {
  const end = BigInt(endOf(mark));
  const later = mark.least === null ? end : BigInt(mark.least);
  const block = (later < end ? later : end) / BigInt(idsPerBlock);
  return end - block * BigInt(idsPerBlock) > mostUnsettled ? undefined : block;
}

/** What of an ownership range the head has before a block of ids. */
export const ownerBefore = (owner: OwnershipRange, block: bigint): OwnershipRange => ({
  ...owner,
  ranges: rangesBefore(owner.ranges, smallestSpan(owner), block),
});

/** The first id of a block. */
export const firstIdOf = (block: bigint): string => String(block * BigInt(idsPerBlock));
