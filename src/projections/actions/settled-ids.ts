import { type Mark, withMark } from '../marks.ts';
import type { Reading } from '../reading.ts';
import { ofActions } from './action-rows.ts';
import { smallestSpan } from './totals/block-counters.ts';
import { idsPerBlock } from './totals/height-extents.ts';
import { rangesBefore } from './totals/id-ranges.ts';
import type { OwnershipRange } from './totals/ownership-ranges.ts';

/** How the ids of the head stand to those of a position. */
export type SettledIds = Readonly<{
  /** No action of the position has this id or a greater one. */
  end: bigint;
  /**
   * The id before which all actions of the head were there already; undefined where ids came in another order than
   * events, so that too many others may have been there as well.
   */
  settled: bigint | undefined;
}>;

/** Runs `use` with how ids stand at a position, as `withMark` does. */
export const withSettledIds = async <T>(
  reading: Reading,
  at: number,
  use: (ids: SettledIds) => Promise<T>,
): Promise<T> => await withMark(reading, ofActions, { at, use: async (mark) => await use(settledIdsOf(mark)) });

/** Of more ids the rows are not read one by one. */
const mostUnsettled = 8n * BigInt(idsPerBlock);

function settledIdsOf({ least, greatest }: Mark): SettledIds {
  const end = (greatest ?? -1n) + 1n;
  const settled = least !== undefined && least < end ? least : end;
  return { end, settled: end - settled > mostUnsettled ? undefined : settled };
}

/** What of an ownership range the head has before an id. */
export const ownerBefore = (owner: OwnershipRange, id: bigint): OwnershipRange => ({
  ...owner,
  ranges: rangesBefore(owner.ranges, smallestSpan(owner), id),
});
