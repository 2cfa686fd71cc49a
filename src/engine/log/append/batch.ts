import { randomUUID } from 'node:crypto';
import { AppError } from '../../../kit/errors.ts';
import { type Cause, type Decision, maxBatch } from '../../../commands/ports.ts';
import { catalogue, entityOf } from '../../../events/catalogue.ts';
import { streamOfKind, type StreamName } from '../../../events/streams.ts';
import { type Encoded, encode, eventMediaType } from '../envelope.ts';
import type { Outgoing } from './pipeline.ts';

/** An event with the last sequence its subject must have, on the first event of each subject only. */
type Prepared = Encoded & Readonly<{ expected: number | undefined }>;

/** Events that are stored together or not at all, and the subjects that they are for. */
export type EventBatch = Readonly<{ stream: StreamName; subjects: readonly string[]; events: readonly Prepared[] }>;

/** Room for subject and headers beside the event itself. */
const overheadBytes = 1024;

/** Encodes decisions once, whatever is tried with them later; fails on what the log can never take. */
export function prepare(decisions: readonly Decision[], network: string, cause: Cause): EventBatch {
  const subjects: string[] = [];
  /** The last event of each entity. */
  const lastIds = new Map<string, string>();
  const streams = new Set<StreamName>();
  const events: Prepared[] = [];
  for (const { kind, entity, facts, expected, previous } of decisions) {
    if (facts.length > 0) streams.add(streamOfKind(kind));
    const key = `${kind} ${entity}`;
    for (const fact of facts) {
      if (catalogue[fact.type].kind !== kind || entityOf(fact) !== entity) {
        throw new AppError('INTERNAL', `A ${fact.type} of ${entityOf(fact)} does not belong to ${kind} ${entity}`);
      }
      const before = lastIds.get(key);
      const event = encode(fact, { network, cause, previous: before ?? previous });
      events.push({ ...event, expected: before === undefined ? expected : undefined });
      if (before === undefined) subjects.push(event.subject);
      lastIds.set(key, event.id);
    }
  }
  const [stream, other] = streams;
  if (stream === undefined || other !== undefined)
    throw new AppError('INTERNAL', 'An append holds facts, all of one stream');
  if (events.length > maxBatch)
    throw new AppError(
      'INTERNAL',
      `An append of ${events.length} facts is more than the ${maxBatch} that the log takes`,
    );
  return { stream, subjects, events };
}

/** Fails with `INVALID_ARGUMENT` on an event that is larger than a message may be. */
export function checkSizes({ events }: EventBatch, maxPayload: number): void {
  const large = events.find(({ bytes }) => bytes.length + overheadBytes > maxPayload);
  if (!large) return;
  throw new AppError(
    'INVALID_ARGUMENT',
    `An event of ${large.bytes.length} bytes for ${large.subject} is larger than the broker takes, ${maxPayload} bytes`,
  );
}

/**
 * One plain message, or an atomic batch under an id of its own for every try.
 *
 * `withId: false` makes the broker store what it has stored before.
 */
export function messagesOf({ events }: EventBatch, withId = true): Outgoing[] {
  const batchId = events.length === 1 ? undefined : randomUUID();
  return events.map(({ id, subject, bytes, expected }, index) => {
    const expectation = expected === undefined ? '' : `Nats-Expected-Last-Subject-Sequence: ${expected}\r\n`;
    const isLast = index === events.length - 1;
    const lines = eventMediaType + expectation;
    if (batchId === undefined) return { subject, bytes, headers: lines + (withId ? `Nats-Msg-Id: ${id}\r\n` : '') };
    // No Nats-Msg-Id in a batch: expected sequences guard it, and the broker would keep a thousand ids in memory.
    const position = `Nats-Batch-Id: ${batchId}\r\nNats-Batch-Sequence: ${index + 1}\r\n`;
    return { subject, bytes, headers: lines + position + (isLast ? 'Nats-Batch-Commit: 1\r\n' : '') };
  });
}
