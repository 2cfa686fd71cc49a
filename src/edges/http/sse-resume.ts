import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../commands/errors.ts';
import { shown } from './parameters.ts';
import type { SseClient, SseEvent } from './sse.ts';

/** An event with its place in its history: places grow, and no other replica gives the event another one. */
export type PlacedEvent = SseEvent & Readonly<{ id: number }>;

/** What a reader is shown: what has happened from a place on, and then what happens. */
export type ResumableFeed = Readonly<{
  /** All that is there after a place, in order; ends when that is all. */
  history: (after: number) => AsyncIterable<PlacedEvent>;
  /**
   * Calls back when there may be more, until the returned function is called. Hints may be lost, for the history is
   * asked from time to time, less and less often while nothing comes.
   */
  watch: (onMore: () => void) => () => void;
  /** Whether nothing comes after this event: the stream ends with it. */
  isLast?: (event: PlacedEvent) => boolean;
  /** Time after which the history is asked without a hint the first time. */
  pollMs?: number;
}>;

const usualPollMs = 5000;
const longestPollMs = 30_000;

/**
 * The place that a reader which comes back has seen last, from `Last-Event-ID`; 0 where it says none.
 *
 * Fails with `INVALID_ARGUMENT` where it is not a place that a stream has given out.
 */
export function lastEventId({ headers }: Pick<FastifyRequest, 'headers'>): number {
  const given = headers['last-event-id'];
  if (given === undefined || given === '') return 0;
  const text = String(given);
  if (!/^\d{1,15}$/.test(text))
    throw new AppError(
      'INVALID_ARGUMENT',
      `Last-Event-ID is ${shown(text)}; it takes the id of an event of this stream.`,
    );
  return Number(text);
}

/**
 * Shows a feed to one reader after a place until either is over: every event once, in order, whatever was lost between.
 *
 * A hint only makes the history be read on from the place reached, so events never overtake one another, and nothing is
 * buffered for a slow reader. Fails where the history does, with the stream ended.
 *
 * @example await showFeed(client, feed, lastEventId(request))
 */
export async function showFeed(client: SseClient, feed: ResumableFeed, after: number): Promise<void> {
  const { isLast = () => false } = feed;
  try {
    for await (const event of eventsAfter(after, feed, client.signal)) {
      if (client.signal.aborted) return;
      client.send(event);
      if (isLast(event)) return;
      await client.drained();
    }
  } finally {
    client.end();
  }
}

async function* eventsAfter(after: number, { history, watch, pollMs = usualPollMs }: ResumableFeed, over: AbortSignal) {
  let place = after;
  let waitMs = pollMs;
  let hint = new AbortController();
  const unwatch = watch(() => hint.abort());
  try {
    while (!over.aborted) {
      hint = new AbortController();
      for await (const event of history(place)) {
        place = event.id;
        waitMs = pollMs;
        yield event;
      }
      await pause(waitMs, undefined, { signal: AbortSignal.any([hint.signal, over]) }).catch(() => undefined);
      waitMs = Math.min(waitMs * 2, longestPollMs);
    }
  } finally {
    unwatch();
  }
}
