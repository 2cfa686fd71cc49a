import type { NatsConnection } from '@nats-io/transport-node';
import { wait } from '../../../kit/wait.ts';
import { AppError } from '../../../kit/errors.ts';
import type { Appended, FactLog } from '../../../commands/ports.ts';
import { codes } from '../breaks.ts';
import { lastMessages } from '../direct.ts';
import { streamName } from '../streams.ts';
import { type EventBatch, checkSizes, prepare } from './batch.ts';
import type { Gate } from './gate.ts';
import { createSender, type SenderOptions } from './groups.ts';
import type { AppendReply } from './pipeline.ts';

/**
 * Options of an appender.
 * - `giveUpAfterMs`: how long it waits for a restart of the broker, or an election;
 * - `onRefused` is called for every append that ends as a conflict;
 * - `gate` must let it pass before every try.
 */
export type AppenderOptions = SenderOptions &
  Readonly<{ giveUpAfterMs?: number; onRefused?: (stream: string) => void; gate?: Gate }>;

const defaultGiveUpAfterMs = 25_000;
/** Keeps writers that met on one entity from meeting again, and lets a follower that answers reads catch up. */
const conflictPauseMs = 20;

type Stored = Readonly<{ sequence: number; isOld: boolean }>;
type Deliver = (batch: EventBatch) => Promise<Appended | undefined>;

/**
 * Appends facts of a network: one message for one fact, else an atomic batch; facts that wait may share one.
 *
 * One append per entity is in flight at a time. An append whose answer was lost is repeated with the same ids; one that
 * turns out to be stored already succeeds. Fails as `FactLog.append` documents, and with `INVALID_ARGUMENT` on an event
 * too large.
 */
export function createAppender(nc: NatsConnection, network: string, options: AppenderOptions = {}): FactLog['append'] {
  const lanes = createLanes();
  const deliver = deliverOn(nc, network, options);
  return async (decisions, cause) => {
    const batch = prepare(decisions, network, cause);
    checkSizes(batch, nc.info?.max_payload ?? Infinity);
    const { subjects } = batch;
    const appended = await lanes(subjects, () => deliver(batch));
    if (appended) return appended;
    options.onRefused?.(batch.stream);
    await wait(Math.random() * conflictPauseMs);
    throw new AppError(
      'CONFLICT',
      `Others have written ${subjects.length === 1 ? subjects[0] : `one of ${subjects.length} subjects`} meanwhile`,
    );
  };
}

/** Sends a batch until there is a clear answer: where it ended, or undefined on a conflict. */
function deliverOn(
  nc: NatsConnection,
  network: string,
  { giveUpAfterMs = defaultGiveUpAfterMs, gate, ...options }: AppenderOptions,
): Deliver {
  const sender = createSender(nc, options);
  return async (batch) => {
    const name = streamName(batch.stream, network);
    const deadline = performance.now() + giveUpAfterMs;
    let withId = true;
    for (let attempt = 0; ; attempt++) {
      await gate?.(batch.stream);
      const reply = await (attempt === 0 ? sender.first(batch) : sender.again(batch, withId));
      if (reply.kind === 'stored') {
        const { sequence } = reply;
        if (!isOlder(reply, batch)) return { stream: batch.stream, sequence, ids: batch.events.map(({ id }) => id) };
        withId = false;
        continue;
      }
      const verdict = judge(reply);
      if (verdict === 'conflict') return storedBefore(nc, name, batch);
      if (verdict !== 'again' || performance.now() > deadline || nc.isClosed()) {
        throw new AppError('UNAVAILABLE', `${problems[verdict]}: ${name}, ${saying(reply)}`);
      }
      await wait(Math.min(50 * 2 ** attempt, 1000) * (0.5 + Math.random()));
    }
  };
}

const problems = {
  full: 'The stream is full and takes no more facts, give it more space',
  refused: 'The broker does not store what was appended',
  again: 'The broker did not acknowledge an append',
} satisfies Record<Exclude<Verdict, 'conflict'>, string>;

/**
 * Returns whether the broker took a fact for one from before the last that its writer knows: then the same has happened
 * again.
 */
function isOlder({ isOld, sequence }: Stored, { events }: EventBatch): boolean {
  return isOld && sequence <= (events[0]?.expected ?? 0);
}

/** A refused repetition is a success where the last event of every subject is the batch's own. */
async function storedBefore(
  nc: NatsConnection,
  name: string,
  { stream, events }: EventBatch,
): Promise<Appended | undefined> {
  const wanted = new Map(events.map(({ subject, id }) => [subject, id]));
  const match = await lastMessages(nc, name, { subjects: [...wanted.keys()] });
  const isOurs =
    match.length === wanted.size && match.every(({ subject, bytes }) => wanted.get(subject) === idOf(bytes));
  if (!isOurs) return undefined;
  return { stream, sequence: Math.max(...match.map(({ sequence }) => sequence)), ids: events.map(({ id }) => id) };
}

/** The id alone, also of an event whose type this code does not know. */
function idOf(bytes: Uint8Array): unknown {
  try {
    const event: unknown = JSON.parse(Buffer.from(bytes).toString());
    return typeof event === 'object' && event !== null && 'id' in event ? event.id : undefined;
  } catch {
    return undefined;
  }
}

type Lanes = <T>(names: readonly string[], task: () => Promise<T>) => Promise<T>;

/**
 * Runs tasks so that no two that share a name run at the same time; tasks of a name run in the order they came.
 *
 * A task queues for all of its names at once, so tasks never wait for each other in a circle.
 */
function createLanes(): Lanes {
  const tails = new Map<string, Promise<void>>();
  return (names, task) => {
    const before = names.flatMap((name) => tails.get(name) ?? []);
    const result = before.length === 0 ? task() : Promise.all(before).then(task);
    const leave = (): void => {
      for (const name of names) if (tails.get(name) === tail) tails.delete(name);
    };
    const tail = result.then(leave, leave);
    for (const name of names) tails.set(name, tail);
    return result;
  };
}

/** A reply other than "stored". */
export type AppendRefusal = Exclude<AppendReply, { kind: 'stored' }>;

/**
 * The reaction to a refusal: to try again, to read which writer was first, to stop because the stream is full, to stop.
 */
type Verdict = 'again' | 'conflict' | 'full' | 'refused';

const conflictCodes: ReadonlySet<number> = new Set([codes.wrongLastSequence, codes.batchRepeatsId]);
const passingCodes: ReadonlySet<number> = new Set([
  codes.sequenceInFlight,
  codes.tooManyRequests,
  codes.tooManyBatches,
  codes.batchIncomplete,
  codes.notAvailable,
  codes.noLeader,
  codes.clusterIncomplete,
  codes.notEnabledForAccount,
  codes.notEnabled,
  codes.streamOffline,
]);
const fullCodes: ReadonlySet<number> = new Set([
  codes.insufficientResources,
  codes.memoryExceeded,
  codes.storageExceeded,
]);

/** Returns the reaction to a refusal. */
export function judge(refusal: AppendRefusal): Verdict {
  if (refusal.kind === 'lost' || passingCodes.has(refusal.code)) return 'again';
  if (conflictCodes.has(refusal.code)) return 'conflict';
  if (fullCodes.has(refusal.code)) return 'full';
  if (refusal.code !== codes.storeFailed) return 'refused';
  if (/maximum (bytes|messages) exceeded|no space/i.test(refusal.description)) return 'full';
  return /wrong last|duplicate|per subject exceeded/i.test(refusal.description) ? 'conflict' : 'refused';
}

/** A refusal in words. */
export function saying(refusal: AppendRefusal): string {
  return refusal.kind === 'lost' ? refusal.why : `${refusal.description} (error ${refusal.code})`;
}
