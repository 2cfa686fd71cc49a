import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '../../kit/errors.ts';
import { forgets, type StreamName } from '../../events/streams.ts';
import { messageAt } from '../log/direct.ts';
import { streamName } from '../log/streams.ts';
import { type BothStores, stateOf } from './archive.ts';
import { type Found, Judge } from './judge.ts';
import type { RawEvent } from './chain.ts';
import { readRaw } from './raw.ts';
import { joined, type Range, Ranges, type ScrubReport, type StreamState } from './report.ts';
import { dropsOf } from './retention.ts';
import type { ArchiveHead } from './store.ts';

/** How fast, whether what the stream has dropped is dropped here too, and who wants to hear how far it is. */
export type ScrubOptions = Readonly<{
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
 * So many missing events, half of them the last ones, are asked for once more, one by one, before they count as
 * missing.
 */
const askedAgain = 50;
/** States in which what seems to be missing may well be there: the broker tells them from counters alone. */
const isTold = (state: StreamState): boolean => state === 'whole' || state === 'short' || state === 'holes';

/**
 * Compares every event that the archive holds of a stream with the stream itself, and the archive's chain with itself.
 *
 * Reads both whole, at the pace given. Changes nothing, unless it prunes: then the archive drops what the stream has
 * dropped as its policy says. Fails with `UNAVAILABLE` when the signal ends it.
 */
export async function scrub(stores: BothStores, stream: StreamName, options: ScrubOptions): Promise<ScrubReport> {
  const { store } = stores;
  const head = await store.head(stream);
  const none = { inStream: [], inArchive: [], inBoth: [], foreign: [] };
  if (!head) return { stream, state: 'whole', events: 0, position: 0, ...none };
  const state = await stateOf(stores, stream, head);
  const found = await compare(stores, head, { ...options, isStreamThere: state !== 'missing' });
  const missing = isTold(state) ? await reallyMissing(stores, stream, found.missing) : found.missing;
  return {
    stream,
    state: await provenState(stores, head, { state, missing }),
    events: found.events,
    position: head.position,
    inStream: joined(found.inStream, missing),
    inArchive: joined(found.inArchive),
    inBoth: found.inBoth,
    foreign: found.foreign,
  };
}

type Comparison = ScrubOptions & Readonly<{ isStreamThere: boolean }>;

async function compare(
  stores: BothStores,
  head: ArchiveHead,
  { isStreamThere, ...options }: Comparison,
): Promise<Found> {
  const { store, policies } = stores;
  const { stream, position } = head;
  const policy = policies[stream];
  const losses = (await store.losses()).filter((loss) => loss.stream === stream);
  const drops = await dropsOf(store, stream, { policy, now: options.now ?? Date.now() });
  const judge = new Judge(stream, { isWhole: !forgets(policy), losses, drops });
  const isPruning = options.isPruning === true && policy.archive === 'keeps';
  const messages = isStreamThere ? batches(stores, stream, position) : undefined;
  try {
    for (let after = 0; after < position;) {
      const began = performance.now();
      const links = await store.read(stream, after, chunk);
      // The archive may have grown since its head was read; what came later is for the next comparison.
      const upTo = links.length < chunk ? position : Math.min(links.at(-1)?.sequence ?? 0, position);
      const events = (await messages?.upTo(upTo)) ?? new Map<number, RawEvent>();
      const anchors = await store.anchors(stream, after, upTo);
      throwIfEnded(stream, options.signal);
      const archived = links.filter(({ sequence }) => sequence <= upTo);
      const dropped = judge.take({ links: archived, events, anchors });
      if (isPruning && dropped.sequences.length > 0 && (await store.prune(stream, dropped)))
        drops.pruned(dropped.subjects);
      after = upTo;
      options.onProgress?.(judge.events, position);
      await keepPace(began, links.length, options);
    }
  } finally {
    await messages?.close();
  }
  return judge.end(head);
}

function throwIfEnded(stream: StreamName, signal: AbortSignal): void {
  if (signal.aborted)
    throw new AppError('UNAVAILABLE', `The comparison of ${stream} was ended before it was done; nothing was changed`, {
      cause: signal.reason,
    });
}

/** What is there when it is asked for alone is not missing. */
async function reallyMissing(
  stores: BothStores,
  stream: StreamName,
  missing: readonly Range[],
): Promise<readonly Range[]> {
  const name = streamName(stream, stores.network);
  const isAll = missing.reduce((sum, { first, last }) => sum + last - first + 1, 0) <= askedAgain;
  const half = askedAgain / 2;
  const asked = isAll ? [...inRanges(missing)] : [...inRanges(missing, half), ...inRanges(missing, half, true)];
  const answers = await Promise.all(asked.map((sequence) => messageAt(stores.nc, name, sequence)));
  const gone = asked.filter((_, index) => answers[index] === undefined);
  if (!isAll && gone.length < asked.length)
    throw new AppError(
      'UNAVAILABLE',
      `The broker did not hand over all of ${stream} in time; nothing is concluded from it`,
    );
  if (!isAll) return missing;
  const ranges = new Ranges();
  for (const sequence of gone) ranges.add(sequence);
  return ranges.all();
}

/** The first so many sequences, or the last ones. */
function* inRanges(ranges: readonly Range[], most = Infinity, isLast = false): Generator<number, void, undefined> {
  let left = most;
  for (const { first, last } of isLast ? ranges.toReversed() : ranges)
    for (let at = 0; at <= last - first && left > 0; at++, left--) yield isLast ? last - at : first + at;
}

/** Counters may be old: a stream that has its last event, or all of them, is neither short nor full of holes. */
async function provenState(
  { nc, network }: BothStores,
  { stream, position, followed }: ArchiveHead,
  { state, missing }: Readonly<{ state: StreamState; missing: readonly Range[] }>,
): Promise<StreamState> {
  const isProven =
    (state === 'holes' && missing.length > 0) ||
    (state === 'short' &&
      (await messageAt(nc, streamName(stream, network), Math.max(position, followed))) === undefined);
  return isProven || (state !== 'holes' && state !== 'short') ? state : 'whole';
}

/** A stream's events up to one sequence after the other. */
function batches(stores: BothStores, stream: StreamName, end: number) {
  const reading = readRaw(stores, stream, { after: 0, upTo: end });
  let held: RawEvent[] = [];
  let isOver = false;
  return {
    upTo: async (sequence: number): Promise<Map<number, RawEvent>> => {
      while (!isOver && (held.at(-1)?.sequence ?? 0) < sequence) {
        const { value, done } = await reading.next();
        isOver = done === true;
        if (value) held.push(...value);
      }
      const taken = held.filter((event) => event.sequence <= sequence);
      held = held.slice(taken.length);
      return new Map(taken.map((event) => [event.sequence, event]));
    },
    close: async () => void (await reading.return()),
  };
}

async function keepPace(began: number, events: number, { perSecond, signal }: ScrubOptions): Promise<void> {
  if (perSecond === undefined) return;
  const restMs = (events / perSecond) * 1000 - (performance.now() - began);
  if (restMs > 0) await pause(restMs, undefined, { signal }).catch(() => undefined);
}
