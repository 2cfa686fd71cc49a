import { lowestShown } from './head.ts';
import type { RoundContext } from './round.ts';

/** Blocks that a search goes over again: a node may show a transaction some blocks late. */
export const overlapBlocks = 10;
const longAgoBlocks = 100;

/**
 * Where the search begins, whether that is as low as the node shows, and the bound below which transactions stay
 * unknown.
 */
export type Range = Readonly<{ from: number; isAll: boolean; bound: number | undefined }>;

/**
 * From the cursor less the overlap; from the first block on in the first round, and once the node shows blocks that
 * were pruned before.
 *
 * The node's lowest height is asked for only where it may matter: in the first round, while there is a bound, and
 * when the last round was long ago.
 */
export async function searchRange({ session, head, known }: RoundContext): Promise<Range> {
  const { lowestHeight: bound, completedHeight } = known;
  const first = completedHeight === undefined || bound !== undefined ? await lowestShown(session, 1) : undefined;
  const isReopened = bound !== undefined && first !== undefined && first < bound;
  if (completedHeight === undefined || isReopened)
    return { from: first ?? 1, isAll: true, bound: first === 1 ? undefined : first };
  // While no block is added, the blocks of the overlap were gone over already.
  const overlap = head.height > known.cursor ? overlapBlocks : 0;
  const from = Math.max(1, known.cursor - overlap);
  const shown = head.height - from > longAgoBlocks ? ((await lowestShown(session, from)) ?? from) : from;
  return { from: shown, isAll: false, bound };
}
