import { hash } from 'node:crypto';
import type { Cause, Recorded } from '../../commands/ports.ts';
import { catalogue, entityOf, type Fact, type FactType, subjectOf } from '../../events/catalogue.ts';
import { eventType, upcast } from '../../events/upcast.ts';

/** A fact as it goes to the broker. */
export type Encoded = Readonly<{ id: string; subject: string; bytes: Uint8Array }>;

/** Header line of every event in the log and on live subjects: its media type (CloudEvents' NATS binding, 3.1). */
export const eventMediaType = 'Content-Type: application/cloudevents+json\r\n';

/** Where and why a fact is written, and behind which event of its entity: its id, where there is one. */
type EnvelopeOptions = Readonly<{ network: string; cause: Cause; previous?: string | undefined }>;

/** Characters of an event's id: 132 bits of a SHA-256. */
const idLength = 22;

/**
 * A fact as one structured CloudEvent in JSON.
 *
 * The id follows from subject, type and data alone, so that the same fact has the same id however often it is tried.
 * `previousid` links an entity's events backwards: whoever has the last one can tell that none is withheld.
 */
export function encode(fact: Fact, { network, cause, previous }: EnvelopeOptions): Encoded {
  const entity = entityOf(fact);
  const subject = subjectOf(catalogue[fact.type].kind, network, entity);
  const type = eventType(fact.type);
  const data = JSON.stringify(fact.data);
  const id = hash('sha256', `${subject}\n${type}\n${data}`, 'base64url').slice(0, idLength);
  const attributes =
    `"specversion":"1.0","id":"${id}","source":${JSON.stringify(`annals/${network}`)},"type":"${type}"` +
    `,"subject":${JSON.stringify(entity)},"time":${JSON.stringify(cause.at)}${linksOf(cause, previous)}`;
  // Put together as text, so that the data is made into text only once.
  return { id, subject, bytes: Buffer.from(`{${attributes},"data":${data}}`) };
}

function linksOf({ correlation, causation, traceparent }: Cause, previous: string | undefined): string {
  const links = { correlationid: correlation, causationid: causation, traceparent, previousid: previous };
  const text = JSON.stringify(links);
  return text === '{}' ? '' : `,${text.slice(1, -1)}`;
}

const typeKey = '"type":"';
/** Enough bytes for the source, the id and all that precedes the type of an event of ours. */
const headBytes = 400;

/**
 * Returns whether stored bytes may be of other types than these, by their first bytes alone: what is decoded costs ten
 * times as much. What another program wrote in another order counts as other.
 */
export function isOfOtherTypes(types: readonly FactType[]): (bytes: Uint8Array) => boolean {
  const names = types.map((type) => `${eventType(type)}"`);
  return (bytes) => {
    const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, headBytes)).toString('latin1');
    const at = head.indexOf(typeKey);
    return at < 0 || !names.some((name) => head.startsWith(name, at + typeKey.length));
  };
}

/** Reads an event as it lies in the log; throws on anything that is not an event this code knows. */
export function decode(bytes: Uint8Array, sequence: number): Recorded {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  const event = ownEvent(text) ?? anyEvent(text);
  const { id, time, causationid, previousid, traceparent } = event;
  return {
    fact: upcast(event.type, event.data),
    id,
    sequence,
    time,
    causation: causationid,
    previous: previousid,
    traceparent,
  };
}

function anyEvent(text: string): Event {
  const event: unknown = JSON.parse(text);
  if (!isEvent(event)) throw new Error('Not a CloudEvent 1.0 with id, type and time');
  return event;
}

type Event = Readonly<{
  id: string;
  type: string;
  time: string;
  causationid?: string | undefined;
  previousid?: string | undefined;
  traceparent?: string | undefined;
  data?: unknown;
}>;

/** A text as `encode` writes it: printable ASCII without quotes and backslashes needs no unescaping. */
const plain = '[ !#-\\[\\]-~]*';
const link = (name: string) => `(?:,"${name}":"(${plain})")?`;
const ownHead = new RegExp(
  `^{"specversion":"1\\.0","id":"(${plain})","source":"${plain}","type":"(${plain})","subject":"${plain}"` +
    `,"time":"(${plain})"(?:,"correlationid":"${plain}")?${['causationid', 'traceparent', 'previousid'].map(link).join('')},"data":`,
);

/** An event whose attributes are where `encode` puts them, faster by a quarter; undefined for any other. */
function ownEvent(text: string): Event | undefined {
  const match = ownHead.exec(text);
  if (!match || !text.endsWith('}')) return undefined;
  const { 0: head, 1: id = '', 2: type = '', 3: time = '', 4: causationid, 5: traceparent, 6: previousid } = match;
  try {
    return { id, type, time, causationid, traceparent, previousid, data: JSON.parse(text.slice(head.length, -1)) };
  } catch {
    return undefined;
  }
}

function isEvent(value: unknown): value is Event {
  if (typeof value !== 'object' || value === null) return false;
  const { specversion, id, type, time }: Partial<Record<string, unknown>> = { ...value };
  return specversion === '1.0' && typeof id === 'string' && typeof type === 'string' && typeof time === 'string';
}

/** What stops a reader for good: an event it cannot read, or a hole in the log. Retrying does not help. */
export class PoisonEvent extends Error {
  /** Where the reader stopped. */
  readonly sequence: number;
  /** The fault of the event, for a person. */
  readonly reason: string;
  constructor(stream: string, sequence: number, reason: string, options?: ErrorOptions) {
    super(`${stream} cannot be read at ${sequence}: ${reason}`, options);
    this.name = 'PoisonEvent';
    this.sequence = sequence;
    this.reason = reason;
  }
}

/**
 * The log ends before what its reader has read, or holds another event there: it has lost its end or was created anew,
 * and may be brought back.
 */
export class EndLost extends PoisonEvent {
  /** Where it ends now. */
  readonly end: number;
  constructor(stream: string, after: number, end: number) {
    const state = end < after ? `ends at ${end}` : 'holds another event there';
    super(stream, after, `the log ${state}: it has lost its end or was created anew`);
    this.end = end;
  }
}

/** Decodes a stored event of a stream, or throws `PoisonEvent` with its sequence. */
export function recordedFrom(
  stream: string,
  { sequence, bytes }: Readonly<{ sequence: number; bytes: Uint8Array }>,
): Recorded {
  try {
    return decode(bytes, sequence);
  } catch (caught) {
    throw new PoisonEvent(stream, sequence, caught instanceof Error ? caught.message : String(caught), {
      cause: caught,
    });
  }
}
