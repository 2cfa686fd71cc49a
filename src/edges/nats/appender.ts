import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { AppError } from '../../commands/errors.ts';
import { type Appended, type Cause, type Decision, type FactLog, maxBatch } from '../../commands/ports.ts';
import { catalogue, entityOf, type StreamName, streamOf } from '../../events/catalogue.ts';
import { lastMessages } from './direct.ts';
import { decode, type Encoded, encode } from './envelope.ts';
import { createLanes } from './lanes.ts';
import { createPipeline, type Outgoing, type Pipeline, type PipelineOptions, type Reply } from './pipeline.ts';
import { streamName } from './streams.ts';

/** A restart of the broker, or an election, is waited for this long. */
const giveUpAfterMs = 25_000;
/** Keeps writers that meet on one entity from meeting again, and lets a follower that answers reads catch up. */
const conflictPauseMs = 20;

/** An event with the last sequence its subject must have, on the first event of each subject. */
type Prepared = Encoded & Readonly<{ expected: number | undefined }>;
type Batch = Readonly<{ stream: StreamName; events: readonly Prepared[] }>;

/**
 * Appends facts of a network: one message for one fact, else an atomic batch.
 *
 * One append per entity is in flight at a time. An append whose answer was lost is repeated with the same ids; one that
 * turns out to be stored already succeeds.
 */
export function createAppender(nc: NatsConnection, network: string, options: PipelineOptions = {}): FactLog['append'] {
  const pipeline = createPipeline(nc, options);
  const lanes = createLanes();
  return async (decisions, cause) => {
    const batch = prepare(decisions, network, cause);
    checkSizes(batch, nc.info?.max_payload ?? Infinity);
    const subjects = [...new Set(batch.events.map(({ subject }) => subject))];
    const appended = await lanes(subjects, () => deliver(nc, pipeline, network, batch));
    if (appended) return appended;
    await pause(Math.random() * conflictPauseMs);
    throw new AppError(
      'CONFLICT',
      `Others have written ${subjects.length === 1 ? subjects[0] : `one of ${subjects.length} subjects`} meanwhile`,
    );
  };
}

function prepare(decisions: readonly Decision[], network: string, cause: Cause): Batch {
  const seen = new Set<string>();
  const events = decisions.flatMap(({ kind, entity, facts, expected }) =>
    facts.map((fact) => {
      if (catalogue[fact.type].kind !== kind || entityOf(fact) !== entity)
        throw new AppError('INTERNAL', `A ${fact.type} of ${entityOf(fact)} does not belong to ${kind} ${entity}`);
      const event = encode(fact, { network, cause });
      const isFirst = !seen.has(event.subject);
      seen.add(event.subject);
      return { ...event, expected: isFirst ? expected : undefined };
    }),
  );
  const [stream, ...others] = new Set(decisions.flatMap(({ facts }) => facts.map(({ type }) => streamOf(type))));
  if (stream === undefined || others.length > 0)
    throw new AppError('INTERNAL', 'An append holds facts, all of one stream');
  if (events.length > maxBatch)
    throw new AppError(
      'INTERNAL',
      `An append of ${events.length} facts is more than the ${maxBatch} the log takes at once`,
    );
  return { stream, events };
}

/** Room for subject and headers beside the event itself. */
const overheadBytes = 1024;

function checkSizes({ events }: Batch, maxPayload: number): void {
  const large = events.find(({ bytes }) => bytes.length + overheadBytes > maxPayload);
  if (large)
    throw new AppError(
      'INVALID_ARGUMENT',
      `An event of ${large.bytes.length} bytes for ${large.subject} is larger than the broker takes (${maxPayload} bytes)`,
    );
}

/** Where the batch ended, or undefined on a conflict. */
async function deliver(
  nc: NatsConnection,
  pipeline: Pipeline,
  network: string,
  batch: Batch,
): Promise<Appended | undefined> {
  const ids = batch.events.map(({ id }) => id);
  const deadline = performance.now() + giveUpAfterMs;
  for (let attempt = 0; ; attempt++) {
    const reply = await pipeline.send(messagesOf(batch));
    if (reply.kind === 'stored') return { stream: batch.stream, sequence: reply.sequence, ids };
    const verdict = judge(reply);
    if (verdict === 'conflict') return findStored(nc, network, batch);
    if (verdict === 'full')
      throw new AppError(
        'UNAVAILABLE',
        `Stream ${streamName(batch.stream, network)} is full and takes no more facts (${saying(reply)}): give it more space`,
      );
    if (verdict === 'refused')
      throw new AppError(
        'UNAVAILABLE',
        `The broker does not store in ${streamName(batch.stream, network)}: ${saying(reply)}`,
      );
    if (performance.now() > deadline)
      throw new AppError(
        'UNAVAILABLE',
        `The broker did not acknowledge an append to ${streamName(batch.stream, network)}: ${saying(reply)}`,
      );
    await pause(Math.min(50 * 2 ** attempt, 1000) * (0.5 + Math.random()));
  }
}

function messagesOf({ events }: Batch): Outgoing[] {
  const batchId = randomUUID();
  return events.map(({ subject, bytes, headers: own, expected }, index) => {
    const fields = headers();
    if (expected !== undefined) fields.set('Nats-Expected-Last-Subject-Sequence', String(expected));
    if (events.length === 1) for (const [name, value] of Object.entries(own)) fields.set(name, value);
    else {
      // No Nats-Msg-Id here: expected sequences guard a batch, and the broker would keep a thousand ids in memory.
      fields.set('Nats-Batch-Id', batchId);
      fields.set('Nats-Batch-Sequence', String(index + 1));
      if (index === events.length - 1) fields.set('Nats-Batch-Commit', '1');
    }
    return { subject, bytes, headers: fields };
  });
}

const conflictCodes = new Set([10_071, 10_201]);
/** In flight on a replica, too many requests or batches, a batch cut off, no leader, JetStream not ready. */
const passingCodes = new Set([10_164, 10_167, 10_210, 10_176, 10_008, 10_009, 10_004, 10_039, 10_076, 10_118]);
const storeFailed = 10_077;
const fullCodes = new Set([10_023, 10_047, 10_028]);

/** 10077 may mean a conflict, a full stream or a disk that does not write: only its description tells. */
function judge(reply: Exclude<Reply, { kind: 'stored' }>): 'again' | 'conflict' | 'full' | 'refused' {
  if (reply.kind === 'lost' || passingCodes.has(reply.code)) return 'again';
  if (conflictCodes.has(reply.code)) return 'conflict';
  if (fullCodes.has(reply.code)) return 'full';
  if (reply.code !== storeFailed) return 'refused';
  if (/maximum (bytes|messages) exceeded|no space/i.test(reply.description)) return 'full';
  return /wrong last|duplicate|per subject exceeded/i.test(reply.description) ? 'conflict' : 'refused';
}

function saying(reply: Exclude<Reply, { kind: 'stored' }>): string {
  return reply.kind === 'lost' ? reply.why : `${reply.description}, error ${reply.code}`;
}

/** A refused repetition is a success where the last event of every subject is the batch's own. */
async function findStored(
  nc: NatsConnection,
  network: string,
  { stream, events }: Batch,
): Promise<Appended | undefined> {
  const wanted = new Map(events.map(({ subject, id }) => [subject, id]));
  const found = await lastMessages(nc, streamName(stream, network), [...wanted.keys()]);
  const isOurs =
    found.length === wanted.size &&
    found.every(({ subject, sequence, bytes }) => wanted.get(subject) === idOf(bytes, sequence));
  if (!isOurs) return undefined;
  return { stream, sequence: Math.max(...found.map(({ sequence }) => sequence)), ids: events.map(({ id }) => id) };
}

function idOf(bytes: Uint8Array, sequence: number): string | undefined {
  try {
    return decode(bytes, sequence).id;
  } catch {
    return undefined;
  }
}
