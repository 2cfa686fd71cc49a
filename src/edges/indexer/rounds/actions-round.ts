import { type Step, steps } from '../../../commands/sync/action-states.ts';
import { ActionTracker, mostUnread } from './action-tracker.ts';
import { ActionsReader } from './actions-reader.ts';
import { lowestShown } from '../../chain/rest/client.ts';
import type { RoundContext, RoundOutcome } from './round.ts';
import { overlapBlocks, searchContext, type SearchResult, searchSteps } from '../../chain/rest/searches.ts';

/**
 * Reads what is new about actions: transactions by height, records of the actions that they name, ids beyond the last,
 * open actions whose time has come, records that could not be read before (DESIGN section 4).
 *
 * The first round searches from the first block and reads the complete list. Where the node has pruned old blocks,
 * their actions are recorded from their records; once a node shows those blocks, a later round finds the transactions.
 */
export async function readActions(context: RoundContext): Promise<RoundOutcome> {
  const { known, log, cause } = context;
  const tracker = new ActionTracker(log, cause, known);
  const range = await searchRange(context);
  const match = await searchAll(context, range.from);
  for (const { record, reason } of match.unreadable) tracker.skip(record, reason);

  const isFirst = known.completedHeight === undefined;
  const started = Math.max(range.from, match.lowestHeight ?? 1);
  // Blocks that were never searched are gone: the records supply their contents.
  const isCut = !isFirst && started > known.cursor + 1;
  const bound = range.isAll || isCut ? maximum(range.bound, started > 1 ? started : undefined) : range.bound;
  const isComplete = isFirst || isCut || known.unread.length >= mostUnread || !tracker.knowsDue(context.head.time);
  const reader = new ActionsReader(context, tracker, match);
  if (isComplete) await reader.readList(isFirst);
  await reader.readNew({ isAfterList: isComplete, isFirst });
  for (const { action, reason } of match.unread) tracker.leaveUnread(action, reason);
  return {
    facts: tracker.facts,
    skipped: tracker.skipped,
    learned: { ...tracker.learned, cursor: match.shownTo, ...(bound === undefined ? {} : { lowestHeight: bound }) },
  };
}

function maximum(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}

async function searchAll({ session, profile, head, report }: RoundContext, from: number): Promise<SearchResult> {
  const heights: Record<Step, number> = { register: from, finalize: from, approve: from };
  const results = await Promise.all(
    steps.map((step) => {
      const onHeight = (height: number): void => {
        heights[step] = height;
        report({
          source: 'actions',
          phase: 'searching',
          height: Math.min(...Object.values(heights)),
          head: head.height,
          records: 0,
        });
      };
      return searchSteps(session, { step, from, to: head.height }, { ...searchContext(profile), onHeight }).then(
        (result) => {
          heights[step] = head.height;
          return result;
        },
      );
    }),
  );
  return {
    steps: results.flatMap((result) => result.steps),
    unread: results.flatMap((result) => result.unread),
    unreadable: results.flatMap((result) => result.unreadable),
    lowestHeight: results.map((result) => result.lowestHeight).reduce(maximum),
    shownTo: Math.min(...results.map((result) => result.shownTo)),
  };
}

const longAgoBlocks = 100;

/**
 * The first height of the search, whether that is as low as the node shows, and the bound below which transactions stay
 * unknown.
 */
export type HeightRange = Readonly<{ from: number; isAll: boolean; bound: number | undefined }>;

/**
 * From the cursor less the overlap; from the first block on in the first round, and once the node shows blocks that
 * were pruned before.
 *
 * It requests the node's lowest height only where that may matter: in the first round, while there is a bound, and when
 * the last round was long ago.
 */
async function searchRange({ session, head, known }: RoundContext): Promise<HeightRange> {
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
