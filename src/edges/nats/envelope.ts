import { hash } from 'node:crypto';
import type { Cause, Recorded } from '../../commands/ports.ts';
import { catalogue, entityOf, type Fact, subjectOf } from '../../events/catalogue.ts';
import { eventType, upcast } from '../../events/upcast.ts';

/** A fact as it goes to the broker. */
export type Encoded = Readonly<{
  id: string;
  subject: string;
  bytes: Uint8Array;
  headers: Readonly<Record<string, string>>;
}>;

/** Where and why a fact is written. */
export type EnvelopeOptions = Readonly<{ network: string; cause: Cause }>;

/** Characters of an event's id: 132 bits of a SHA-256. */
const idLength = 22;
const utf8 = new TextEncoder();

/**
 * A fact as one structured CloudEvent in JSON.
 *
 * The id follows from subject, type and data alone, so that the same fact has the same id however often it is tried.
 */
export function encode(fact: Fact, { network, cause }: EnvelopeOptions): Encoded {
  const entity = entityOf(fact);
  const subject = subjectOf(catalogue[fact.type].kind, network, entity);
  const type = eventType(fact.type);
  const data = JSON.stringify(fact.data);
  const id = hash('sha256', `${subject}\n${type}\n${data}`, 'base64url').slice(0, idLength);
  const attributes = JSON.stringify({
    specversion: '1.0',
    id,
    source: `annals/${network}`,
    type,
    subject: entity,
    time: cause.at,
    correlationid: cause.correlation,
    causationid: cause.causation,
    traceparent: cause.traceparent,
  });
  // The data is spliced in, so that it is made into text only once.
  const bytes = utf8.encode(`${attributes.slice(0, -1)},"data":${data}}`);
  return { id, subject, bytes, headers: { 'Nats-Msg-Id': id } };
}

/** Reads an event as it lies in the log; throws on anything that is not an event this code knows. */
export function decode(bytes: Uint8Array, sequence: number): Recorded {
  const event: unknown = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
  if (!isEvent(event)) throw new Error('Not a CloudEvent 1.0 with id, type and time');
  const { id, time, causationid } = event;
  return {
    fact: upcast(event.type, event.data),
    id,
    sequence,
    time,
    ...(causationid === undefined ? {} : { causation: causationid }),
  };
}

type Event = Readonly<{ id: string; type: string; time: string; causationid?: string; data?: unknown }>;

function isEvent(value: unknown): value is Event {
  if (typeof value !== 'object' || value === null) return false;
  const { specversion, id, type, time }: Partial<Record<string, unknown>> = { ...value };
  return specversion === '1.0' && typeof id === 'string' && typeof type === 'string' && typeof time === 'string';
}
