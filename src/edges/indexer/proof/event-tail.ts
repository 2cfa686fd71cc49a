import pLimit from 'p-limit';
import type { EventPages, StoredEvent } from '../../../engine/archive/event-pages.ts';
import type { WatchFacts } from '../../../engine/log/watches.ts';
import { type Kind, type StreamName, streamTable } from '../../../events/streams.ts';
import type { PlacedEvent, ResumableFeed } from '../../http/sse-resume.ts';

/** Both stores for readers of bytes, and hints that there is more. */
export type EventSource = Readonly<{ after: EventPages; watch: WatchFacts }>;

/** The last events of a stream, all those after `from` up to `end`. */
type Tail = { from: number; end: number; bytes: number; events: readonly StoredEvent[] };

const mostTailEvents = 1024;
const mostTailBytes = 4 * 1024 * 1024;
const pageBounds = { most: 64, mostBytes: 64 * 1024 } as const;
const growBounds = { most: 256, mostBytes: 1024 * 1024 } as const;
/** Pages of late readers that are read at once. */
const readAtOnce = 4;

/** The kinds of a public log. */
export function kindsOf(stream: StreamName): Kind[] {
  const { kinds } = streamTable[stream];
  return Object.keys(kinds).filter((kind): kind is Kind => Object.hasOwn(kinds, kind));
}

/** Whether an event is of one of these kinds, which its subject says. */
export function isOfKinds(kinds: ReadonlySet<string>): (event: StoredEvent) => boolean {
  return ({ subject }) => kinds.has(subject.split('.', 2)[1] ?? '');
}

/**
 * Makes the feeds of logs: readers at the end of a stream share one copy of its last events, which is read once for all
 * of them; those that are behind read page by page, a few at a time.
 *
 * @example showFeed(client, createEventFeeds(source)('ACTIONS', new Set(['action'])), lastEventId(request))
 */
export function createEventFeeds({
  after: pages,
  watch,
}: EventSource): (stream: StreamName, kinds: ReadonlySet<string>) => ResumableFeed {
  const tails = new Map<StreamName, Tail>();
  const growing = new Map<StreamName, Promise<void>>();
  const limit = pLimit(readAtOnce);
  const grow = async (stream: StreamName, tail: Tail): Promise<void> => {
    add(tail, await pages(stream, tail.end, growBounds));
  };
  const growOnce = (stream: StreamName, tail: Tail): Promise<void> => {
    const started = growing.get(stream);
    if (started) return started;
    const done = grow(stream, tail)
      .catch((caught: unknown) => {
        tails.delete(stream);
        throw caught;
      })
      .finally(() => growing.delete(stream));
    growing.set(stream, done);
    return done;
  };
  const next = async (stream: StreamName, after: number): Promise<readonly StoredEvent[]> => {
    const tail = tails.get(stream);
    if (tail?.end === after) await growOnce(stream, tail);
    if (tail && tail.from <= after && after <= tail.end) return eventsAfter(tail, after);
    const page = await limit(() => pages(stream, after, pageBounds));
    if (page.length === 0 && !tails.has(stream)) tails.set(stream, { from: after, end: after, bytes: 0, events: [] });
    return page;
  };
  const watchStream = shareWatches(watch);
  return (stream, kinds) => {
    const isWanted = isOfKinds(kinds);
    let read = 0;
    return {
      watch: (onMore) => watchStream(stream, onMore),
      async *history(after) {
        // What was read and is of other kinds is not read again.
        for (let at = Math.max(after, read); ;) {
          const page = await next(stream, at);
          for (const event of page) if (isWanted(event)) yield placed(event);
          at = page.at(-1)?.sequence ?? at;
          read = at;
          if (page.length === 0) return;
        }
      },
    };
  };
}

/** One watch of a stream for all of its readers. */
function shareWatches(watch: WatchFacts): (stream: StreamName, onMore: () => void) => () => void {
  const watched = new Map<StreamName, Readonly<{ readers: Set<() => void>; stop: () => void }>>();
  const open = (stream: StreamName) => {
    const readers = new Set<() => void>();
    const stop = watch(kindsOf(stream), () => readers.forEach((onMore) => onMore()));
    return { readers, stop };
  };
  return (stream, onMore) => {
    const shared = watched.get(stream) ?? open(stream);
    watched.set(stream, shared);
    shared.readers.add(onMore);
    return () => {
      shared.readers.delete(onMore);
      if (shared.readers.size > 0 || watched.get(stream) !== shared) return;
      watched.delete(stream);
      shared.stop();
    };
  };
}

function add(tail: Tail, more: readonly StoredEvent[]): void {
  const events = [...tail.events, ...more];
  tail.bytes += more.reduce((sum, { bytes }) => sum + bytes.length, 0);
  tail.end = more.at(-1)?.sequence ?? tail.end;
  let dropped = 0;
  while (events.length - dropped > mostTailEvents || (tail.bytes > mostTailBytes && events.length - dropped > 1)) {
    const oldest = events[dropped];
    if (!oldest) break;
    tail.bytes -= oldest.bytes.length;
    tail.from = oldest.sequence;
    dropped += 1;
  }
  tail.events = dropped > 0 ? events.slice(dropped) : events;
}

/** A few events of the tail, so that no reader holds more of it than a page. */
function eventsAfter({ events }: Tail, after: number): readonly StoredEvent[] {
  const start = events.findLastIndex(({ sequence }) => sequence <= after) + 1;
  return events.slice(start, start + pageBounds.most);
}

function placed({ sequence, bytes }: StoredEvent): PlacedEvent {
  return { id: sequence, data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString() };
}
