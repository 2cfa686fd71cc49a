import { randomUUID } from 'node:crypto';
import { headers } from '@nats-io/transport-node';
import { AppError } from '../../commands/errors.ts';
import { type Cause, type Decision, maxBatch } from '../../commands/ports.ts';
import { catalogue, entityOf, type StreamName, streamOf } from '../../events/catalogue.ts';
import { type Encoded, encode } from './envelope.ts';
import type { Outgoing } from './pipeline.ts';

/** An event with the last sequence its subject must have, on the first event of each subject only. */
type Prepared = Encoded & Readonly<{ expected: number | undefined }>;

/** Events that are stored together or not at all. */
export type Batch = Readonly<{ stream: StreamName; events: readonly Prepared[] }>;

/** Room for subject and headers beside the event itself. */
const overheadBytes = 1024;

/** Encodes decisions once, whatever is tried with them later; fails on what the log can never take. */
export function prepare(decisions: readonly Decision[], network: string, cause: Cause): Batch {
  const seen = new Set<string>();
  const events: Prepared[] = [];
  for (const { kind, entity, facts, expected } of decisions) {
    for (const fact of facts) {
      if (catalogue[fact.type].kind !== kind || entityOf(fact) !== entity) {
        throw new AppError('INTERNAL', `A ${fact.type} of ${entityOf(fact)} does not belong to ${kind} ${entity}`);
      }
      const event = encode(fact, { network, cause });
      events.push({ ...event, expected: seen.has(event.subject) ? undefined : expected });
      seen.add(event.subject);
    }
  }
  const [stream, ...others] = new Set(decisions.flatMap(({ facts }) => facts.map(({ type }) => streamOf(type))));
  if (stream === undefined || others.length > 0)
    throw new AppError('INTERNAL', 'An append holds facts, all of one stream');
  if (events.length > maxBatch)
    throw new AppError(
      'INTERNAL',
      `An append of ${events.length} facts is more than the ${maxBatch} that the log takes`,
    );
  return { stream, events };
}

/** Fails with `INVALID_ARGUMENT` on an event that is larger than a message may be. */
export function checkSizes({ events }: Batch, maxPayload: number): void {
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
export function messagesOf({ events }: Batch, withId = true): Outgoing[] {
  const batchId = randomUUID();
  return events.map(({ subject, bytes, headers: own, expected }, index) => {
    const fields = headers();
    if (expected !== undefined) fields.set('Nats-Expected-Last-Subject-Sequence', String(expected));
    const isLast = index === events.length - 1;
    // No Nats-Msg-Id in a batch: expected sequences guard it, and the broker would keep a thousand ids in memory.
    const alone = withId ? own : {};
    const joined = { 'Nats-Batch-Id': batchId, 'Nats-Batch-Sequence': String(index + 1), ...(isLast ? commit : {}) };
    const more = events.length === 1 ? alone : joined;
    for (const [name, value] of Object.entries(more)) fields.set(name, value);
    return { subject, bytes, headers: fields };
  });
}

const commit = { 'Nats-Batch-Commit': '1' };
