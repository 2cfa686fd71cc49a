import { createHash, hash as digest } from 'node:crypto';
import { type JetStreamManager, jetstreamManager, type StreamInfo } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { StreamName, StreamPolicies } from '../../events/streams.ts';
import { refusedWith } from '../log/breaks.ts';
import { type Delivered, Feed, FeedLost } from '../log/feed.ts';
import { streamName } from '../log/streams.ts';

/** An event with everything that makes it what it is, byte for byte. */
export type RawEvent = Readonly<{
  sequence: number;
  subject: string;
  id: string;
  /** When the broker first stored it: nanoseconds since 1970. */
  storedNanos: string;
  body: Uint8Array;
}>;

/** An event at its position in a stream's chain: `hash` covers it and everything before it. */
export type Link = RawEvent & Readonly<{ previous: Uint8Array; hash: Uint8Array }>;

/** The hash that the first link of a chain follows. */
export const beginning: Uint8Array = new Uint8Array(32);

/** The hash of a link: SHA-256 over the previous hash, where and when the event was stored, and its bytes. */
export function hashOf(stream: StreamName, event: RawEvent, previous: Uint8Array): Uint8Array {
  const { sequence, subject, id, storedNanos, body } = event;
  return createHash('sha256')
    .update(previous)
    .update(`${JSON.stringify([stream, sequence, subject, id, storedNanos])}\n`)
    .update(body)
    .digest();
}

/** Puts events after a hash, one after the other. */
export function chained(stream: StreamName, events: readonly RawEvent[], after: Uint8Array): Link[] {
  let previous = after;
  return events.map((event) => {
    const link = { ...event, previous, hash: hashOf(stream, event, previous) };
    previous = link.hash;
    return link;
  });
}

/** Returns whether a link's hash is that of its content. */
export function isSound(stream: StreamName, link: Link): boolean {
  return isSame(hashOf(stream, link, link.previous), link.hash);
}

/** Returns whether two hashes are the same bytes. */
export function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

const idLength = 22;

/**
 * Returns whether an event proves itself: its id follows from its subject, type and data.
 *
 * What does not is damaged, or not ours.
 */
export function provesItself({ subject, body }: Pick<RawEvent, 'subject' | 'body'>): boolean {
  try {
    const event: unknown = JSON.parse(Buffer.from(body).toString());
    if (typeof event !== 'object' || event === null || !('data' in event) || !('type' in event)) return false;
    const text = `${subject}\n${String(event.type)}\n${JSON.stringify(event.data)}`;
    return 'id' in event && event.id === digest('sha256', text, 'base64url').slice(0, idLength);
  } catch {
    return false;
  }
}

/** Header of a restored event: when it was first stored. */
export const storedHeader = 'Annals-Stored';

/** The log for readers of its bytes. */
export type RawLog = Readonly<{ nc: NatsConnection; network: string; policies: StreamPolicies }>;

const atOnce = 2000;

/** A stored message in the archive's form. */
export function rawFrom(
  message: Pick<Delivered, 'subject' | 'sequence' | 'bytes' | 'storedNanos' | 'header'>,
): RawEvent {
  return {
    sequence: message.sequence,
    subject: message.subject,
    id: idIn(message.bytes),
    storedNanos: message.header(storedHeader) ?? message.storedNanos,
    body: message.bytes,
  };
}

const idWithin = 256;

/** The id is near the start of an event's text, so that no event need be parsed for it; empty where there is none. */
function idIn(body: Uint8Array): string {
  const { buffer, byteOffset, byteLength } = body;
  const text = Buffer.from(buffer, byteOffset, Math.min(byteLength, idWithin)).toString('latin1');
  return /"id":"([^"\\\0]*)"/.exec(text)?.[1] ?? '';
}

/** Speaks to the broker about streams. */
export function managerOf(nc: NatsConnection): Promise<JetStreamManager> {
  return jetstreamManager(nc, { checkAPI: false });
}

/** The broker's information of a stream; undefined where it has none of this name. */
export async function streamInfo(
  { nc, network }: Pick<RawLog, 'nc' | 'network'>,
  stream: StreamName,
): Promise<StreamInfo | undefined> {
  const manager = await managerOf(nc);
  try {
    return await manager.streams.info(streamName(stream, network));
  } catch (caught) {
    if (refusedWith(caught, 'streamNotFound')) return undefined;
    throw caught;
  }
}

/**
 * Everything of a stream after a sequence, up to another, in batches; also ends where the broker has no more of it.
 *
 * A broker that lost events in the middle skips them, and one that lost its end falls silent: then this ends.
 */
export async function* readRaw(
  { nc, network }: RawLog,
  stream: StreamName,
  { after, upTo, silenceMs = 4000 }: Readonly<{ after: number; upTo: number; silenceMs?: number }>,
): AsyncGenerator<readonly RawEvent[], void, undefined> {
  if (after >= upTo) return;
  let at = after;
  for await (const messages of untilSilent(nc, streamName(stream, network), { after, silenceMs })) {
    const wanted = messages.filter(({ sequence }) => sequence <= upTo);
    if (wanted.length > 0) yield wanted.map(rawFrom);
    at = messages.at(-1)?.sequence ?? at;
    if (at >= upTo) return;
  }
}

/** Reads a stream's events up to one sequence after the other. */
export function stepwise(log: RawLog, stream: StreamName, end: number) {
  const reading = readRaw(log, stream, { after: 0, upTo: end });
  let held: RawEvent[] = [];
  let isOver = false;
  return {
    upTo: async (sequence: number): Promise<Map<number, RawEvent>> => {
      while (!isOver && (held.at(-1)?.sequence ?? 0) < sequence) {
        const { value, done } = await reading.next();
        isOver = done === true;
        if (value) held.push(...value);
      }
      const accepted = held.filter((event) => event.sequence <= sequence);
      held = held.slice(accepted.length);
      return new Map(accepted.map((event) => [event.sequence, event]));
    },
    close: async () => void (await reading.return()),
  };
}

/** A feed may be lost so often without anything read between. */
const mostLost = 3;

type Quiet = Readonly<{ after: number; silenceMs: number }>;

/** A slow reader loses its feed, because the broker has not heard of it for long: a new feed continues. */
async function* untilSilent(
  nc: NatsConnection,
  name: string,
  { after, silenceMs }: Quiet,
): AsyncGenerator<readonly Delivered[], void, undefined> {
  let at = after;
  for (let lost = 0; ; lost++) {
    try {
      for await (const messages of oneFeed(nc, name, { after: at, silenceMs })) {
        yield messages;
        at = messages.at(-1)?.sequence ?? at;
        lost = 0;
      }
      return;
    } catch (caught) {
      if (!(caught instanceof FeedLost) || lost >= mostLost) throw caught;
    }
  }
}

async function* oneFeed(
  nc: NatsConnection,
  name: string,
  { after, silenceMs }: Quiet,
): AsyncGenerator<readonly Delivered[], void, undefined> {
  const feed = await Feed.open(nc, name, { after });
  try {
    for (let behind = feed.pendingAtStart; behind > 0;) {
      const messages = await unlessSilent(feed.take(atOnce), silenceMs);
      const last = messages?.at(-1);
      if (!messages || !last) return;
      yield messages;
      behind = last.behind;
    }
  } finally {
    feed.close();
  }
}

/**
 * The answer if it comes within a time, else undefined. A timer that ran on would hold the answer in memory until it
 * ended.
 */
async function unlessSilent<T>(answer: Promise<T>, ms: number): Promise<T | undefined> {
  const silence = new Promise<undefined>((resolve) => {
    const timer = setTimeout(() => resolve(undefined), ms);
    const end = (): void => {
      clearTimeout(timer);
      resolve(undefined);
    };
    answer.then(end, end);
  });
  return await Promise.race([answer, silence]);
}
