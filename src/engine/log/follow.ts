import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Recorded } from '../../commands/ports.ts';
import { forgets, type StreamName, type StreamPolicy, streamTable } from '../../events/streams.ts';
import { refusedWith } from './breaks.ts';
import { type Delivered, Feed } from './feed.ts';
import { messageAt } from './direct.ts';
import { EndLost, PoisonEvent, recordedFrom } from './envelope.ts';
import { streamName } from './streams.ts';
import { wait } from '../../kit/wait.ts';

/** Facts as they came, how many bytes their events have, and how many of the stream are still to come. */
export type FollowBatch = Readonly<{ facts: readonly Recorded[]; bytes: number; behind: number }>;

/**
 * `signal` ends the reading; `maxFacts` bounds a batch. With `verifiesLast` a reader whose feed broke continues only
 * where the log still holds the last fact that it has read: a log that lost its end may have grown past it since.
 * `onResumed` is called whenever one continues: a broker that was away may have lost any fact before.
 */
export type FollowOptions = Readonly<{
  maxFacts?: number;
  verifiesLast?: boolean;
  onResumed?: () => Promise<void>;
  signal: AbortSignal;
}>;

type Following = Readonly<{
  nc: NatsConnection;
  name: string;
  /** Whether the stream forgets, so that holes in its sequences are normal. */
  hasGaps: boolean;
  signal: AbortSignal;
  maxFacts: number;
}>;

/** How far a reader has come; `id` is of the fact there, where that is verified. */
type Progress = Readonly<{ after: number; id: string | undefined }>;

const defaultMaxFacts = 5000;

/** All facts of a stream after a sequence, in order and for ever; see `Log.follow`. */
export async function* followStream(
  nc: NatsConnection,
  at: Readonly<{ stream: StreamName; network: string; after: number; policy?: StreamPolicy }>,
  { signal, maxFacts = defaultMaxFacts, verifiesLast = false, onResumed }: FollowOptions,
): AsyncGenerator<FollowBatch, void, undefined> {
  const hasGaps = forgets(at.policy ?? streamTable[at.stream]);
  const following = { nc, name: streamName(at.stream, at.network), hasGaps, signal, maxFacts };
  let progress: Progress = { after: at.after, id: undefined };
  for (let onOpen: FollowOptions['onResumed']; !signal.aborted; onOpen = onResumed) {
    for await (const { batch, poison, last } of untilLost(following, progress, onOpen)) {
      if (batch.facts.length > 0) yield batch;
      if (poison) throw poison;
      progress = { after: last, id: verifiesLast ? batch.facts.at(-1)?.id : undefined };
    }
    await wait(100 + Math.random() * 200, signal);
  }
}

/** Where the log ended when a reader of it failed for that; 0 where it is gone, undefined for any other failure. */
export function lostEnd(caught: unknown): number | undefined {
  if (caught instanceof EndLost) return caught.end;
  return refusedWith(caught, 'streamNotFound') ? 0 : undefined;
}

type Step = Readonly<{ batch: FollowBatch; poison: PoisonEvent | undefined; last: number }>;

/**
 * Reads on one feed until it breaks; the error that breaks it is ignored, for a new feed continues after the last
 * message.
 */
async function* untilLost(
  following: Following,
  start: Progress,
  onOpen: FollowOptions['onResumed'],
): AsyncGenerator<Step, void, undefined> {
  const feed = await openFeed(following, start);
  if (!feed) return;
  const close = (): void => feed.close();
  following.signal.addEventListener('abort', close);
  if (following.signal.aborted) close();
  try {
    await onOpen?.();
    let { after } = start;
    for (;;) {
      const messages = await feed.take(following.maxFacts).catch(() => []);
      if (messages.length === 0) return;
      const step = read(following, after, messages);
      yield step;
      after = step.last;
    }
  } finally {
    following.signal.removeEventListener('abort', close);
    feed.close();
  }
}

/** Undefined when the broker is away. */
async function openFeed({ nc, name, hasGaps }: Following, { after, id }: Progress): Promise<Feed | undefined> {
  try {
    const manager = await jetstreamManager(nc, { checkAPI: false });
    const { state } = await manager.streams.info(name);
    if (state.last_seq < after) throw new EndLost(name, after, state.last_seq);
    if (state.first_seq > after + 1 && !hasGaps)
      throw new PoisonEvent(name, after + 1, `the log begins at ${state.first_seq}`);
    const stored = id === undefined ? undefined : await messageAt(nc, name, after);
    if (stored && recordedFrom(name, stored).id !== id) throw new EndLost(name, after, state.last_seq);
    return await Feed.open(nc, name, { after });
  } catch (caught) {
    const isGone = refusedWith(caught, 'streamNotFound');
    if (caught instanceof PoisonEvent || isGone || nc.isClosed()) throw caught;
    return undefined;
  }
}

/** The facts of messages, up to the first that cannot be read. */
function read({ name, hasGaps }: Following, after: number, messages: readonly Delivered[]): Step {
  const facts: Recorded[] = [];
  let last = after;
  let behind = 0;
  let bytes = 0;
  try {
    for (const message of messages) {
      if (message.sequence !== last + 1 && !hasGaps)
        throw new PoisonEvent(name, last + 1, `the log goes on at ${message.sequence}`);
      facts.push(recordedFrom(name, message));
      last = message.sequence;
      bytes += message.bytes.byteLength;
      behind = message.behind;
    }
    return { batch: { facts, bytes, behind }, poison: undefined, last };
  } catch (caught) {
    if (!(caught instanceof PoisonEvent)) throw caught;
    return { batch: { facts, bytes, behind }, poison: caught, last };
  }
}
