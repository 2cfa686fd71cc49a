import { createHash, hash as digest } from 'node:crypto';
import type { StreamName } from '../../events/streams.ts';

/** An event with everything that makes it what it is, byte for byte. */
export type RawEvent = Readonly<{
  sequence: number;
  subject: string;
  id: string;
  /** When the broker first stored it: nanoseconds since 1970. */
  storedNanos: string;
  body: Uint8Array;
}>;

/** An event in its place in a stream's chain: `hash` stands for it and for everything before it. */
export type Link = RawEvent & Readonly<{ previous: Uint8Array; hash: Uint8Array }>;

/** What the first link of a chain follows. */
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

/** Whether a link's hash is that of its content. */
export function isSound(stream: StreamName, link: Link): boolean {
  return isSame(hashOf(stream, link, link.previous), link.hash);
}

/** Whether two hashes are the same bytes. */
export function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

const idLength = 22;

/**
 * Whether an event proves itself: its id follows from its subject, type and data.
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
