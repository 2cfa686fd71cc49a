import { AppError } from '../../kit/errors.ts';
import { wait } from '../../kit/wait.ts';
import { forgets, type StreamName } from '../../events/streams.ts';
import { messageAt } from '../log/direct.ts';
import { streamName } from '../log/streams.ts';
import type { BothStores } from './archive.ts';
import { type RawEvent, stepwise, streamInfo } from './chain.ts';
import { CopyComparison, type Match } from './compare.ts';
import { damagedTiles, TreeCheck } from './proof/tree-check.ts';
import { dropsOf } from './retention.ts';
import {
  isOtherLife,
  joined,
  type SequenceRange,
  SequenceRanges,
  type ScrubReport,
  stateOf,
  type StreamState,
} from './states.ts';
import type { ArchiveHead } from './store.ts';

/** The pace, whether to drop here what the stream has dropped, and the callback for progress. */
export type StreamScrubOptions = Readonly<{
  /** Ends the comparison, which then fails: half of it would take what it has not seen for missing. */
  signal: AbortSignal;
  /** Events a second at most; without it as fast as it goes. */
  perSecond?: number | undefined;
  isPruning?: boolean | undefined;
  onProgress?: ((done: number, total: number) => void) | undefined;
  /** Milliseconds since 1970. */
  now?: number | undefined;
}>;

const chunk = 1000;
/**
 * So many missing events, half of them the last ones, are requested once more, one by one, before they count as
 * missing.
 */
const requestedAgain = 50;
/** States in which events that seem to be missing may well exist: they follow from the broker's counters alone. */
const isReported = (state: StreamState): boolean => state === 'whole' || state === 'short' || state === 'holes';

/**
 * Compares every event that the archive holds of a stream with the stream itself, and the archive's chain with itself.
 *
 * Reads both completely, at the pace of the options. Changes nothing, unless it prunes: then the archive drops what the
 * stream has dropped by its policy. Fails with `UNAVAILABLE` when the signal ends it.
 */
export async function scrub(stores: BothStores, stream: StreamName, options: StreamScrubOptions): Promise<ScrubReport> {
  const { store } = stores;
  const head = await store.head(stream);
  const none = { inStream: [], inArchive: [], inBoth: [], foreign: [], tiles: [] };
  if (!head) return { stream, state: 'whole', events: 0, position: 0, ...none };
  const info = await streamInfo(stores, stream);
  const state = stateOf(info, head, stores.policies[stream]);
  const life = { isStreamThere: info !== undefined, isOtherLife: info !== undefined && isOtherLife(info, head) };
  const match = await compare(stores, head, { ...options, ...life });
  const missing = isReported(state) ? await reallyMissing(stores, stream, match.missing) : match.missing;
  const { missing: _, ...others } = match;
  return {
    ...others,
    stream,
    state: await provenState(stores, head, { state, missing }),
    position: head.position,
    inStream: joined(match.inStream, missing),
    inArchive: joined(match.inArchive),
  };
}

type Comparison = StreamScrubOptions & Readonly<{ isStreamThere: boolean; isOtherLife: boolean }>;

async function compare(
  stores: BothStores,
  head: ArchiveHead,
  { isStreamThere, isOtherLife: isOther, ...options }: Comparison,
): Promise<Match & Pick<ScrubReport, 'tiles'>> {
  const { store, policies } = stores;
  const { stream, position } = head;
  const policy = policies[stream];
  const losses = await store.gaps(stream);
  const drops = await dropsOf(store, stream, { policy, now: options.now ?? Date.now() });
  const judge = new CopyComparison(stream, { isWhole: !forgets(policy), isOtherLife: isOther, losses, drops });
  const tree = new TreeCheck(store.trees, head);
  const isPruning = options.isPruning === true && policy.archive === 'keeps';
  const messages = isStreamThere ? stepwise(stores, stream, position) : undefined;
  try {
    for (let after = 0; after < position;) {
      const startedAt = performance.now();
      const { links, isEnd } = await store.read(stream, after, chunk);
      // The archive may have grown since its head was read; what came later is for the next comparison.
      const upTo = isEnd ? position : Math.min(links.at(-1)?.sequence ?? 0, position);
      const events = (await messages?.upTo(upTo)) ?? new Map<number, RawEvent>();
      const anchors = await store.anchors(stream, after, upTo);
      throwIfEnded(stream, options.signal);
      const archived = links.filter(({ sequence }) => sequence <= upTo);
      await tree.take(archived, upTo);
      const dropped = judge.take({ links: archived, events, anchors });
      if (isPruning && dropped.sequences.length > 0 && (await store.prune(stream, dropped)))
        drops.pruned(dropped.subjects);
      after = upTo;
      options.onProgress?.(judge.events, position);
      await keepPace(startedAt, links.length, options);
    }
  } finally {
    await messages?.close();
  }
  return { ...(await judge.end(head)), tiles: damagedTiles(await tree.end()) };
}

function throwIfEnded(stream: StreamName, signal: AbortSignal): void {
  if (signal.aborted)
    throw new AppError('UNAVAILABLE', `The comparison of ${stream} was ended before it was done; nothing was changed`, {
      cause: signal.reason,
    });
}

/** Events that a request for each alone returns are not missing. */
async function reallyMissing(
  stores: BothStores,
  stream: StreamName,
  missing: readonly SequenceRange[],
): Promise<readonly SequenceRange[]> {
  const name = streamName(stream, stores.network);
  const isAll = missing.reduce((sum, { first, last }) => sum + last - first + 1, 0) <= requestedAgain;
  const half = requestedAgain / 2;
  const query = isAll ? [...inRanges(missing)] : [...inRanges(missing, half), ...inRanges(missing, half, true)];
  const answers = await Promise.all(query.map((sequence) => messageAt(stores.nc, name, sequence)));
  const gone = query.filter((_, index) => answers[index] === undefined);
  if (!isAll && gone.length < query.length)
    throw new AppError(
      'UNAVAILABLE',
      `The broker did not hand over all of ${stream} in time; nothing is concluded from it`,
    );
  if (!isAll) return missing;
  const ranges = new SequenceRanges();
  for (const sequence of gone) ranges.add(sequence);
  return ranges.all();
}

/** The first so many sequences, or the last ones. */
function* inRanges(
  ranges: readonly SequenceRange[],
  most = Infinity,
  isLast = false,
): Generator<number, void, undefined> {
  let left = most;
  for (const { first, last } of isLast ? ranges.toReversed() : ranges)
    for (let at = 0; at <= last - first && left > 0; at++, left--) yield isLast ? last - at : first + at;
}

/** Counters may be old: a stream that has its last event, or all of them, is neither short nor full of holes. */
async function provenState(
  { nc, network }: BothStores,
  { stream, position, followed }: ArchiveHead,
  { state, missing }: Readonly<{ state: StreamState; missing: readonly SequenceRange[] }>,
): Promise<StreamState> {
  const isProven =
    (state === 'holes' && missing.length > 0) ||
    (state === 'short' &&
      (await messageAt(nc, streamName(stream, network), Math.max(position, followed))) === undefined);
  return isProven || (state !== 'holes' && state !== 'short') ? state : 'whole';
}

async function keepPace(started: number, events: number, { perSecond, signal }: StreamScrubOptions): Promise<void> {
  if (perSecond === undefined) return;
  const restMs = (events / perSecond) * 1000 - (performance.now() - started);
  if (restMs > 0) await wait(restMs, signal);
}
