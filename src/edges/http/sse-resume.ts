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
 * between. Ends the reader's stream where the feed fails, after it has reported why.
 *
 * @example showFeed(client, feed, lastEventId(request))
 */
export function showFeed(
  client: SseClient,
  feed: ResumableFeed,
  after: number,
  onFailure: (caught: unknown) => void = () => undefined,
): void {
  const take = async ({ endsAs, ...event }: PlacedEvent): Promise<void> => {
    client.send(event);
    if (endsAs !== undefined) client.send({ ...event, name: endsAs });
    await client.drained();
  };
  const following = new Following(feed, after, take, (failure) => {
    if (failure) onFailure(failure.caught);
    client.end();
  });
  following.start();
  client.onOver(following.stop);
}

/**
 * Hands over the events of a feed after a position, and then new ones, one after the other, until its last event or an
 * abort.
 *
 * A hint only makes this read the history from the reached position on, so events never overtake one another. Fails
 * where the history or the consumer does.
 */
export async function followFeed(
  feed: ResumableFeed,
  after: number,
  signal: AbortSignal,
  take: TakeEvent,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const end = (failure?: Failure): void => (failure ? reject(failure.caught) : resolve());
  const following = new Following(feed, after, take, end);
  if (signal.aborted) return;
  following.start();
  signal.addEventListener('abort', following.stop, { once: true });
  await promise.finally(() => signal.removeEventListener('abort', following.stop));
}

type TakeEvent = (event: PlacedEvent) => void | Promise<void>;
type Failure = Readonly<{ caught: unknown }>;

/** A reader of a feed. Idle, it is no more than this object: no function waits for a hint. */
class Following {
  readonly #feed: ResumableFeed;
  readonly #take: TakeEvent;
  readonly #onEnd: (failure?: Failure) => void;
  #location: number;
  #waitMs: number;
  #unwatch: (() => void) | undefined;
  #late: NodeJS.Timeout | undefined;
  #isReading = false;
  #isHinted = false;
  #isOver = false;
  #hasEnded = false;

  constructor(feed: ResumableFeed, after: number, take: TakeEvent, onEnd: (failure?: Failure) => void) {
    this.#feed = feed;
    this.#location = after;
    this.#take = take;
    this.#onEnd = onEnd;
    this.#waitMs = feed.pollMs ?? usualPollMs;
  }

  start(): void {
    try {
      this.#unwatch = this.#feed.watch(this.#hint);
      this.#hint();
    } catch (caught) {
      this.#end({ caught });
    }
  }

  readonly stop = (): void => {
    this.#isOver = true;
    if (!this.#isReading) this.#end();
  };

  readonly #hint = (): void => {
    this.#isHinted = true;
    if (!this.#isReading && !this.#isOver) void this.#read();
  };

  async #read(): Promise<void> {
    this.#isReading = true;
    clearTimeout(this.#late);
    try {
      while (this.#isHinted && !this.#isOver) {
        this.#isHinted = false;
        if (await this.#readOn()) this.#isOver = true;
      }
    } catch (caught) {
      return this.#end({ caught });
    }
    this.#isReading = false;
    if (this.#isOver) return this.#end();
    if (this.#waitMs !== neverMs) this.#late = setTimeout(this.#hint, this.#waitMs);
    if (this.#waitMs < longestPollMs) this.#waitMs = Math.min(this.#waitMs * 2, longestPollMs);
  }

  /** Returns whether the feed has ended. */
  async #readOn(): Promise<boolean> {
    const { history, pollMs = usualPollMs } = this.#feed;
    for await (const event of history(this.#location)) {
      if (this.#isOver) return true;
      await this.#take(event);
      if (event.endsAs !== undefined) return true;
      [this.#location, this.#waitMs] = [event.id, pollMs];
    }
    return false;
  }

  #end(failure?: Failure): void {
    if (this.#hasEnded) return;
    [this.#isOver, this.#hasEnded] = [true, true];
    clearTimeout(this.#late);
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#onEnd(failure);
  }
}
