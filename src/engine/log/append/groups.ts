import type { NatsConnection } from '@nats-io/transport-node';
import { maxBatch } from '../../../commands/ports.ts';
import { streams } from '../../../events/streams.ts';
import { type EventBatch, messagesOf } from './batch.ts';
import { Pipeline, type PipelineOptions, type AppendReply } from './pipeline.ts';

type Task = Readonly<{ batch: EventBatch; settle: (reply: AppendReply) => void }>;

/** One round in so many sends its facts alone, to measure whether that has become faster. */
const roundsUntilAlone = 16;

/**
 * Sends the single facts of one stream: each alone, or those that wait as one atomic batch where that is faster.
 *
 * It serves the target of appends with an fsync per acknowledgement (DESIGN section 10): a group of many waits for the
 * same few writes to disk as one fact, which is 1.6 to 1.9 times as fast where a write is slow.
 *
 * A group keeps the expectation of each fact. A group that is not stored is sent again fact by fact, so that each fact
 * gets the answer that it alone would have had. No two facts that are under way may be of one entity.
 */
export class Groups {
  readonly #pipeline: Pipeline;
  readonly #pace: GroupPace;
  #waiting: Task[] = [];
  #underWay = 0;
  #isGathering = false;
  #rounds = 0;

  constructor(pipeline: Pipeline, pace: GroupPace) {
    this.#pipeline = pipeline;
    this.#pace = pace;
  }

  /** Sends a batch; only one of a single fact with an expectation may share a group. Never rejects. */
  send(batch: EventBatch): Promise<AppendReply> {
    const [event, other] = batch.events;
    if (other !== undefined || event?.expected === undefined) return this.#pipeline.send(messagesOf(batch));
    return new Promise((settle) => {
      const task = { batch, settle };
      if (this.#isGathering || this.#pace.isForGroup(this.#underWay + this.#waiting.length + 1))
        this.#waiting.push(task);
      else void this.#sendAlone(task);
    });
  }

  async #sendAlone({ batch, settle }: Task): Promise<void> {
    const inFlight = ++this.#underWay;
    const started = performance.now();
    const reply = await this.#pipeline.send(messagesOf(batch));
    if (reply.kind !== 'lost') this.#pace.alone(performance.now() - started, inFlight);
    settle(reply);
    if (--this.#underWay === 0 && this.#waiting.length > 0 && !this.#isGathering) this.#gather();
  }

  async #sendGroup(tasks: readonly Task[]): Promise<void> {
    const [first] = tasks;
    if (first === undefined) return;
    const { stream } = first.batch;
    this.#isGathering = true;
    const started = performance.now();
    const events = tasks.flatMap(({ batch }) => batch.events);
    const subjects = events.map(({ subject }) => subject);
    const reply = await this.#pipeline.send(messagesOf({ stream, subjects, events }));
    this.#gather();
    if (reply.kind === 'stored') {
      const before = reply.sequence - tasks.length;
      for (const [index, { settle }] of tasks.entries()) settle({ ...reply, sequence: before + index + 1 });
    } else await Promise.all(tasks.map((task) => this.#sendAlone(task)));
    this.#pace.grouped(performance.now() - started);
  }

  /** A writer that has just had its answer may append again before the next batch leaves. */
  #gather(): void {
    this.#isGathering = true;
    setImmediate(() => this.#release());
  }

  #release(): void {
    this.#isGathering = false;
    const tasks = this.#waiting.splice(0, maxBatch);
    const isGroup = this.#pace.isForGroup(tasks.length) && ++this.#rounds % roundsUntilAlone !== 0;
    if (isGroup) void this.#sendGroup(tasks);
    else for (const task of tasks) void this.#sendAlone(task);
  }
}

/** `pace`: decides when facts that wait are sent in groups; by default each stream has one of its own. */
export type SenderOptions = PipelineOptions & Readonly<{ pace?: GroupPace }>;

/** Sends a batch once and returns its outcome; never rejects. */
export type BatchSender = Readonly<{
  first: (batch: EventBatch) => Promise<AppendReply>;
  /** As a message of its own; `withId: false` makes the broker store what it has stored before. */
  again: (batch: EventBatch, withId: boolean) => Promise<AppendReply>;
}>;

/** A sender with a pipeline of its own on a connection. */
export function createSender(nc: NatsConnection, { pace, ...options }: SenderOptions): BatchSender {
  const pipeline = new Pipeline(nc, options);
  const groups = new Map(streams.map((stream) => [stream, new Groups(pipeline, pace ?? createPace())]));
  const again = (batch: EventBatch, withId: boolean): Promise<AppendReply> => pipeline.send(messagesOf(batch, withId));
  return { first: (batch) => groups.get(batch.stream)?.send(batch) ?? again(batch, true), again };
}

/** Decides from what appends took whether many of them go faster as one group. */
export type GroupPace = Readonly<{
  /** Returns whether a group of so many is faster. */
  isForGroup: (size: number) => boolean;
  /** Records how long an append on its own took, with so many under way when it was sent, itself counted. */
  alone: (tookMs: number, underWay: number) => void;
  /** A group took so long. */
  grouped: (tookMs: number) => void;
}>;

/** With fewer, a group never pays: the broker writes it to disk four times. */
const leastGroup = 16;
/** The least time of a group, about. */
const quietGroupMs = 16;

/**
 * A pace that knows nothing yet and so sends all alone.
 *
 * A broker that writes to disk before each acknowledgement does so for every message, so that many on their own wait
 * for as many writes; a group waits for the same few, however large it is. Which is faster depends on the disk and on
 * its neighbours.
 */
export function createPace(): GroupPace {
  let aloneMs = 0;
  let groupMs = quietGroupMs;
  return {
    isForGroup: (size) => size >= leastGroup && size * aloneMs > groupMs,
    alone: (tookMs, underWay) => {
      if (underWay < leastGroup) return;
      aloneMs += (tookMs / underWay - aloneMs) / 256;
      // A slow group is forgotten in time, else none would be tried again; both averages move slowly, for a stall of
      // the machine proves nothing.
      groupMs += (quietGroupMs - groupMs) / 8192;
    },
    grouped: (tookMs) => {
      groupMs += (tookMs - groupMs) / 4;
    },
  };
}
