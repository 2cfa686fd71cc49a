import type { FastifyRequest } from 'fastify';
import { AppError } from '../../kit/errors.ts';
import { shown } from './parameters.ts';
import type { SseClient, SseEvent } from './sse.ts';

/** An event with its position in its history: positions grow, and every replica gives the event the same one. */
export type PlacedEvent = SseEvent &
  Readonly<{
    id: number;
    /** Nothing comes after it. It is sent once more by this name, which browsers listen for, and ends the stream. */
    endsAs?: string;
  }>;

/** A feed for one reader: the past events after a position, and then the new ones. */
export type ResumableFeed = Readonly<{
  /** All events after a position, in order; ends when there are no more. */
  history: (after: number) => AsyncIterable<PlacedEvent>;
  /** Calls back when there may be more, until the returned function is called. Hints may be lost. */
  watch: (onMore: () => void) => () => void;
  /**
   * Time after which the history is read without a hint, at first: longer and longer while nothing comes, up to 30 s.
   * `neverMs` where no hint can be lost.
   */
  pollMs?: number;
}>;

/** A reader that receives hints need not poll. */
export const neverMs = Infinity;

const usualPollMs = 5000;
const longestPollMs = 30_000;

/**
 * The position of the last event that a returning reader has seen, from `Last-Event-ID`; 0 without that header.
 *
 * Fails with `INVALID_ARGUMENT` where it is not a position that a stream can have sent.
 */
export function lastEventId({ headers }: Pick<FastifyRequest, 'headers'>): number {
  const input = headers['last-event-id'];
  if (input === undefined || input === '') return 0;
  const text = String(input);
  if (!/^\d{1,15}$/.test(text))
    throw new AppError(
      'INVALID_ARGUMENT',
      `Last-Event-ID is ${shown(text)}; it takes the id of an event of this stream.`,
    );
  return Number(text);
}

/**
 * Sends a feed to one reader after a position until either is over: every event once, in order, whatever was lost
 * between.
 *
 * @example await showFeed(client, feed, lastEventId(request))
 */
export async function showFeed(client: SseClient, feed: ResumableFeed, after: number): Promise<void> {
  try {
    await followFeed(feed, after, client.signal, async ({ endsAs, ...event }) => {
      client.send(event);
      if (endsAs !== undefined) client.send({ ...event, name: endsAs });
      await client.drained();
    });
  } finally {
    client.end();
  }
}

/**
 * Hands over the events of a feed after a position, and then new ones, one after the other, until its last event or an
 * abort.
 *
 * A hint only makes this read the history from the reached position on, so events never overtake one another. Fails
 * where the history or the consumer does.
 */
export async function followFeed(
  { history, watch, pollMs = usualPollMs }: ResumableFeed,
  after: number,
  signal: AbortSignal,
  take: (event: PlacedEvent) => void | Promise<void>,
): Promise<void> {
  const hints = new Hints();
  const unwatch = watch(hints.give);
  signal.addEventListener('abort', hints.give, { once: true });
  let location = after;
  let waitMs = pollMs;
  const readOn = async (): Promise<boolean> => {
    for await (const event of history(location)) {
      if (signal.aborted) return true;
      await take(event);
      if (event.endsAs !== undefined) return true;
      [location, waitMs] = [event.id, pollMs];
    }
    return false;
  };
  try {
    while (!signal.aborted) {
      hints.forget();
      if (await readOn()) return;
      if (!signal.aborted) await hints.next(waitMs);
      if (waitMs < longestPollMs) waitMs = Math.min(waitMs * 2, longestPollMs);
    }
  } finally {
    unwatch();
    signal.removeEventListener('abort', hints.give);
  }
}

/** Hints that a caller can await, for a limited time; small, since each idle reader has them. */
class Hints {
  #isGiven = false;
  #wake: (() => void) | undefined;

  readonly give = (): void => {
    this.#isGiven = true;
    this.#wake?.();
  };

  forget(): void {
    this.#isGiven = false;
  }

  async next(withinMs: number): Promise<void> {
    if (this.#isGiven) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const late = withinMs === neverMs ? undefined : setTimeout(resolve, withinMs);
    await promise;
    clearTimeout(late);
    this.#wake = undefined;
  }
}
