import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '../../commands/errors.ts';
import { forgets, keptPerEntity, type StreamName } from '../../events/streams.ts';
import { messageAt } from '../log/direct.ts';
import { streamName } from '../log/streams.ts';
import { type BothStores, lookAt } from './archiver.ts';
import { beginning, hashOf, isSame, isSound, type Link, provesItself, type RawEvent } from './chain.ts';
import { isDamaged, rangesOf, type ScrubReport } from './damage.ts';
import { readRaw } from './raw.ts';

/** How fast, and who wants to hear how far it is. */
export type ScrubOptions = Readonly<{
  /** Ends the look, which then fails: half a look would take what it has not seen for missing. */
  signal: AbortSignal;
  /** Events a second at most; without it as fast as it goes. */
  perSecond?: number;
  onProgress?: (done: number, total: number) => void;
}>;

const chunk = 1000;
/** So many missing events, half of them the last ones, are asked for once more, one by one, before they count as missing. */
const askedAgain = 50;

type Found = {
  stream: number[];
  archive: number[];
  both: number[];
  missing: number[];
  foreign: RawEvent[];
  events: number;
  last: number;
};

/**
 * Compares every event that the archive holds of a stream with the stream itself, and the archive's chain with itself.
 *
 * Reads both whole, at the pace given. Changes nothing. Fails with `UNAVAILABLE` when the signal ends it.
 */
export async function scrub(stores: BothStores, stream: StreamName, options: ScrubOptions): Promise<ScrubReport> {
  const head = await stores.store.head(stream);
  const none = { inStream: [], inArchive: [], inBoth: [], foreign: [] };
  if (!head) return { stream, state: 'whole', events: 0, position: 0, ...none };
  const state = await lookAt(stores, stream, head);
  const found: Found = { stream: [], archive: [], both: [], missing: [], foreign: [], events: 0, last: 0 };
  const messages = state === 'missing' ? undefined : batches(stores, stream, head.position);
  const lost = (await stores.store.losses()).filter((loss) => loss.stream === stream);
  const isLost = (sequence: number): boolean => lost.some(({ first, last }) => first <= sequence && sequence <= last);
  try {
    let previous: Link | undefined;
    for (let after = 0; after < head.position;) {
      const began = performance.now();
      const links = await stores.store.read(stream, after, chunk);
      // The archive may have grown since its head was read; what came later is the next look's.
      const upTo = links.length < chunk ? head.position : Math.min(links.at(-1)?.sequence ?? 0, head.position);
      const events = (await messages?.upTo(upTo)) ?? new Map<number, RawEvent>();
      const archived = links.filter(({ sequence }) => sequence <= upTo);
      throwIfEnded(stream, options.signal);
      previous = judge(
        stream,
        { links: archived, events, previous, isLost, isWhole: !forgets(stores.policies[stream]) },
        found,
      );
      after = upTo;
      options.onProgress?.(found.events, head.position);
      await keepPace(began, links.length, options);
    }
    if (previous && !isSame(previous.hash, head.hash)) found.archive.push(head.position);
  } finally {
    await messages?.close();
  }
  const missing = state === 'whole' ? await reallyMissing(stores, stream, found.missing) : found.missing;
  const inStream = [...found.stream, ...missing].toSorted((a, b) => a - b);
  return {
    stream,
    state,
    events: found.events,
    position: head.position,
    inStream: rangesOf(inStream),
    inArchive: rangesOf([...new Set(found.archive)]),
    inBoth: rangesOf(found.both),
    foreign: found.foreign,
  };
}

function throwIfEnded(stream: StreamName, signal: AbortSignal): void {
  if (signal.aborted)
    throw new AppError('UNAVAILABLE', `The comparison of ${stream} was ended before it was done; nothing was changed`, {
      cause: signal.reason,
    });
}

/** Whether a scrub of a stream finds nothing at all. */
export async function isSoundStream(stores: BothStores, stream: StreamName, signal: AbortSignal): Promise<boolean> {
  return !isDamaged(await scrub(stores, stream, { signal }));
}

type Chunk = Readonly<{
  links: readonly Link[];
  events: ReadonlyMap<number, RawEvent>;
  previous: Link | undefined;
  /** Known to be lost: neither copy counts, and what follows is tied to nothing. */
  isLost: (sequence: number) => boolean;
  /** Whether the stream keeps everything, so that what neither copy has is lost. */
  isWhole: boolean;
}>;

/** Judges a chunk of both copies; gives back its last link. */
function judge(
  stream: StreamName,
  { links, events, previous, isLost, isWhole }: Chunk,
  found: Found,
): Link | undefined {
  let before = previous;
  const archived = new Map(links.map((link) => [link.sequence, link]));
  const sequences = [...new Set([...archived.keys(), ...events.keys()])].toSorted((a, b) => a - b);
  for (const sequence of sequences) {
    const [link, event] = [archived.get(sequence), events.get(sequence)];
    found.events += 1;
    if (isWhole) found.both.push(...between(found.last, sequence).filter((gone) => !isLost(gone)));
    found.last = sequence;
    if (isLost(sequence)) continue;
    judgeOne(stream, { sequence, link, event, before: isLost(sequence - 1) ? undefined : before }, found);
    if (link) before = link;
  }
  return before;
}

const between = (after: number, before: number): number[] =>
  Array.from({ length: Math.max(0, before - after - 1) }, (_, index) => after + 1 + index);

type Pair = Readonly<{
  sequence: number;
  link: Link | undefined;
  event: RawEvent | undefined;
  before: Link | undefined;
}>;

function judgeOne(stream: StreamName, { sequence, link, event, before }: Pair, found: Found): void {
  if (!link) return void found.archive.push(sequence);
  const follows =
    before === undefined ? sequence > 1 || isSame(link.previous, beginning) : isSame(link.previous, before.hash);
  const isLinkSound = isSound(stream, link);
  if (!event) {
    (isLinkSound ? found.missing : found.both).push(sequence);
    if (isLinkSound && !follows) found.archive.push(sequence);
    return;
  }
  if (isSame(hashOf(stream, event, link.previous), link.hash)) {
    if (!isLinkSound || !follows) found.archive.push(sequence);
    return;
  }
  if (isLinkSound) {
    found.stream.push(sequence);
    if (provesItself(event) && event.id !== link.id) found.foreign.push(event);
  } else {
    (provesItself(event) ? found.archive : provesItself(link) ? found.stream : found.both).push(sequence);
  }
}

/** What the stream drops by itself is not missing, and neither is what is there when it is asked for alone. */
async function reallyMissing(stores: BothStores, stream: StreamName, missing: readonly number[]): Promise<number[]> {
  const kept = keptPerEntity(stores.policies[stream]);
  const dropped =
    kept === undefined || missing.length === 0 ? new Set<number>() : await stores.store.dropped(stream, missing, kept);
  const left = missing.filter((sequence) => !dropped.has(sequence));
  const name = streamName(stream, stores.network);
  const isAll = left.length <= askedAgain;
  const asked = isAll ? left : [...left.slice(0, askedAgain / 2), ...left.slice(-askedAgain / 2)];
  const answers = await Promise.all(asked.map((sequence) => messageAt(stores.nc, name, sequence)));
  const gone = asked.filter((_, index) => answers[index] === undefined);
  if (!isAll && gone.length < asked.length)
    throw new AppError(
      'UNAVAILABLE',
      `The broker did not hand over all of ${stream} in time; nothing is concluded from it`,
    );
  return isAll ? gone : left;
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
