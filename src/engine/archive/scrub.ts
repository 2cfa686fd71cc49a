import { AppError } from '../../kit/errors.ts';
import { wait } from '../../kit/wait.ts';
import { forgets, type StreamName } from '../../events/streams.ts';
import { messageAt } from '../log/direct.ts';
import { streamName } from '../log/streams.ts';
import type { BothStores } from './archive.ts';
import {
  beginning,
  hashOf,
  isSame,
  isSound,
  type Link,
  provesItself,
  type RawEvent,
  stepwise,
  streamInfo,
} from './chain.ts';
import { damagedTiles, TreeCheck } from './proof/tree-check.ts';
import { type Anchor, createRuns, type Dropped, type Drops, dropsOf, type Walked } from './retention.ts';
import { isOtherLife, joined, type Range, Ranges, type ScrubReport, stateOf, type StreamState } from './states.ts';
import type { ArchiveHead } from './store.ts';

/** The pace, whether to drop here what the stream has dropped, and the callback for progress. */
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
 * So many missing events, half of them the last ones, are requested once more, one by one, before they count as
 * missing.
 */
const askedAgain = 50;
/** States in which events that seem to be missing may well exist: they follow from the broker's counters alone. */
const isTold = (state: StreamState): boolean => state === 'whole' || state === 'short' || state === 'holes';

/**
 * Compares every event that the archive holds of a stream with the stream itself, and the archive's chain with itself.
 *
 * Reads both completely, at the pace of the options. Changes nothing, unless it prunes: then the archive drops what the
 * stream has dropped by its policy. Fails with `UNAVAILABLE` when the signal ends it.
 */
export async function scrub(stores: BothStores, stream: StreamName, options: ScrubOptions): Promise<ScrubReport> {
  const { store } = stores;
  const head = await store.head(stream);
  const none = { inStream: [], inArchive: [], inBoth: [], foreign: [], tiles: [] };
  if (!head) return { stream, state: 'whole', events: 0, position: 0, ...none };
  const info = await streamInfo(stores, stream);
  const state = stateOf(info, head, stores.policies[stream]);
  const life = { isStreamThere: info !== undefined, isOtherLife: info !== undefined && isOtherLife(info, head) };
  const found = await compare(stores, head, { ...options, ...life });
  const missing = isTold(state) ? await reallyMissing(stores, stream, found.missing) : found.missing;
  const { missing: _, ...others } = found;
  return {
    ...others,
    stream,
    state: await provenState(stores, head, { state, missing }),
    position: head.position,
    inStream: joined(found.inStream, missing),
    inArchive: joined(found.inArchive),
  };
}

type Comparison = ScrubOptions & Readonly<{ isStreamThere: boolean; isOtherLife: boolean }>;

async function compare(
  stores: BothStores,
  head: ArchiveHead,
  { isStreamThere, isOtherLife: isOther, ...options }: Comparison,
): Promise<Found & Pick<ScrubReport, 'tiles'>> {
  const { store, policies } = stores;
  const { stream, position } = head;
  const policy = policies[stream];
  const losses = await store.gaps(stream);
  const drops = await dropsOf(store, stream, { policy, now: options.now ?? Date.now() });
  const judge = new Judge(stream, { isWhole: !forgets(policy), isOtherLife: isOther, losses, drops });
  const tree = new TreeCheck(store.trees, head);
  const isPruning = options.isPruning === true && policy.archive === 'keeps';
  const messages = isStreamThere ? stepwise(stores, stream, position) : undefined;
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
      await tree.take(archived, upTo);
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

async function keepPace(began: number, events: number, { perSecond, signal }: ScrubOptions): Promise<void> {
  if (perSecond === undefined) return;
  const restMs = (events / perSecond) * 1000 - (performance.now() - began);
  if (restMs > 0) await wait(restMs, signal);
}

/** What both stores hold of the same sequences. */
type Chunk = Readonly<{
  links: readonly Link[];
  events: ReadonlyMap<number, RawEvent>;
  anchors: readonly Anchor[];
}>;

/** The result of a walk; `missing` is sound in the archive and was not delivered by the stream. */
export type Found = Readonly<{
  events: number;
  inStream: readonly Range[];
  inArchive: readonly Range[];
  inBoth: readonly Range[];
  missing: readonly Range[];
  foreign: readonly Range[];
}>;

/**
 * The rules of a walk: whether the stream keeps everything, whether it was created anew, which losses are known, and
 * what the stream drops by policy.
 */
type Judging = Readonly<{ isWhole: boolean; isOtherLife: boolean; losses: readonly Range[]; drops: Drops }>;

/** So many rows that seem to be missing are checked again once the walk is over. */
const mostLate = 100_000;

/** A walk through both copies of a stream, chunk after chunk in their order. */
export class Judge {
  /** Rows and events that were walked past. */
  events = 0;
  readonly #stream: StreamName;
  readonly #how: Judging;
  readonly #found = {
    inStream: new Ranges(),
    inArchive: new Ranges(),
    inBoth: new Ranges(),
    missing: new Ranges(),
    foreign: new Ranges(),
  };
  readonly #late: Walked[] = [];
  #last = 0;
  #lastKept = 0;
  /** The hash that the next link must follow; undefined after a loss, where what follows is tied to nothing. */
  #tie: Uint8Array | undefined = beginning;

  constructor(stream: StreamName, how: Judging) {
    this.#stream = stream;
    this.#how = how;
  }

  /** Compares both stores up to the end of the chunk; returns the rows that may be dropped. */
  take({ links, events, anchors }: Chunk): Dropped {
    const rows = new Map(links.map((link) => [link.sequence, link]));
    const runs = createRuns(this.#lastKept);
    const waiting = [...anchors];
    const tieOn = (sequence: number): void => {
      for (let anchor = waiting[0]; anchor && anchor.sequence < sequence; anchor = waiting[0]) {
        this.#tie = anchor.hash;
        runs.pass(anchor);
        waiting.shift();
      }
    };
    for (const sequence of [...new Set([...rows.keys(), ...events.keys()])].toSorted((a, b) => a - b)) {
      const [link, event] = [rows.get(sequence), events.get(sequence)];
      this.#noteAbsent(sequence);
      tieOn(sequence);
      const isDropped = link !== undefined && this.#how.drops.isDropped(link) && !event;
      if (isDropped) runs.drop(link);
      else if (link) runs.keep(sequence);
      if (!isDropped && !this.#isLost(sequence)) this.#judge(sequence, link, event);
      if (this.#isLost(sequence)) this.#tie = undefined;
      else if (link) this.#tie = link.hash;
    }
    tieOn(Infinity);
    this.#lastKept = runs.lastKept();
    return runs.all();
  }

  /** The result, once all rows were read. */
  async end({ position, hash }: ArchiveHead): Promise<Found> {
    if (this.events > 0 && this.#tie && !isSame(this.#tie, hash)) this.#found.inArchive.add(position);
    const dropped = await this.#how.drops.droppedSince(this.#late);
    const missing = new Ranges();
    for (const { sequence } of this.#late) if (!dropped.has(sequence)) missing.add(sequence);
    const { inStream, inArchive, inBoth, missing: others, foreign } = this.#found;
    return {
      events: this.events,
      inStream: inStream.all(),
      inArchive: inArchive.all(),
      inBoth: inBoth.all(),
      missing: [...missing.all(), ...others.all()],
      foreign: foreign.all(),
    };
  }

  /** Records events that neither copy has before a sequence as lost, where the stream keeps everything. */
  #noteAbsent(sequence: number): void {
    this.events += 1;
    for (let gone = this.#last + 1; this.#how.isWhole && gone < sequence; gone++)
      if (!this.#isLost(gone)) this.#found.inBoth.add(gone);
    this.#last = sequence;
    if (this.#isLost(sequence - 1)) this.#tie = undefined;
  }

  #judge(sequence: number, link: Link | undefined, event: RawEvent | undefined): void {
    const { inStream, inArchive, inBoth, foreign } = this.#found;
    if (!link) return (this.#how.isOtherLife ? foreign : inArchive).add(sequence);
    const follows = this.#tie === undefined || isSame(link.previous, this.#tie);
    const isLinkSound = isSound(this.#stream, link);
    if (!event) {
      if (!isLinkSound) return inBoth.add(sequence);
      this.#noteMissing(link);
      if (!follows) inArchive.add(sequence);
    } else if (isSame(hashOf(this.#stream, event, link.previous), link.hash)) {
      if (!isLinkSound || !follows) inArchive.add(sequence);
    } else {
      const isEventSound = provesItself(event);
      const isForeign = isEventSound && event.id !== link.id && (isLinkSound || this.#how.isOtherLife);
      if (isForeign) foreign.add(sequence);
      if (isLinkSound) inStream.add(sequence);
      else (isEventSound && !isForeign ? inArchive : provesItself(link) ? inStream : inBoth).add(sequence);
    }
  }

  #noteMissing({ sequence, subject }: Link): void {
    if (this.#late.length < mostLate) this.#late.push({ sequence, subject, place: this.#how.drops.place() });
    else this.#found.missing.add(sequence);
  }

  #isLost(sequence: number): boolean {
    return this.#how.losses.some((one) => one.first <= sequence && sequence <= one.last);
  }
}
