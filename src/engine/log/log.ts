import type { NatsConnection } from '@nats-io/transport-node';
import type { FactLog, Recorded } from '../../commands/ports.ts';
import { type FactType, subjectOf } from '../../events/catalogue.ts';
import { type Kind, type StreamName, streamOfKind } from '../../events/streams.ts';
import { type AppenderOptions, createAppender } from './append/appender.ts';
import { withSpans } from './append/spans.ts';
import { lastAtLeader, lastMessages, messageAt, messagesOf, type Stored } from './direct.ts';
import { type FollowBatch, type FollowOptions, followStream } from './follow.ts';
import { hasForgotten, type Head, readHead } from './head.ts';
import { isOfOtherTypes, recordedFrom } from './envelope.ts';
import { entityIn, everyEntity, lastOfEach, lastPages } from './scan.ts';
import { streamName } from './streams.ts';
import { createWatches, type WatchFacts } from './watches.ts';

/** The log of one network. */
export type Log = FactLog &
  Readonly<{
    /** The last fact of every entity of a kind, by entity, any number. */
    lastOfAll: (kind: Kind) => Promise<ReadonlyMap<string, Recorded>>;
    /**
     * The same page by page, none held longer than its page; facts of the types named are left out without being
     * decoded. Fails when the broker goes away meanwhile.
     */
    lastPages: (kind: Kind, without?: readonly FactType[]) => AsyncIterable<readonly Recorded[]>;
    /** The last fact of each of some entities at or before a sequence of their stream, as far as it is kept. */
    lastAsOf: (kind: Kind, entities: readonly string[], upTo: number) => Promise<ReadonlyMap<string, Recorded>>;
    /** The last facts of a kind whose stream holds no other, at most so many, oldest first. */
    latest: (kind: Kind, most: number) => Promise<readonly Recorded[]>;
    /** Returns whether a stream has dropped an event since it was created. */
    hasForgotten: (stream: StreamName) => Promise<boolean>;
    /**
     * The last fact of an entity as the stream's leader has it, undefined only where there is none: a copy that lags
     * may answer every other read. For what is answered with 404 and for every decision to delete.
     */
    confirmedLast: (kind: Kind, entity: string) => Promise<Recorded | undefined>;
    /** Reads the head from the broker; fails with `UNAVAILABLE` when it does not answer. */
    head: (stream: StreamName) => Promise<Head>;
    /**
     * Waits, as every write does, until a stream has all that its archive knows of it; fails with `UNAVAILABLE` when
     * that takes long.
     */
    complete: (stream: StreamName) => Promise<void>;
    /**
     * All facts after a sequence, in order, then live ones, in batches of the available facts; never waits to fill a
     * batch.
     *
     * Resumes when the broker was away, and ends when the signal aborts. Throws `PoisonEvent` on an event that cannot
     * be read, on a log shorter than `after`, and, in streams that keep everything, on a gap.
     *
     * @example for await (const { facts } of log.follow('ACTIONS', 41, { signal })) await project(facts)
     */
    follow: (stream: StreamName, after: number, options: FollowOptions) => AsyncIterable<FollowBatch>;
    /**
     * The facts of one entity after a sequence of its stream, in order, page by page, up to the end as it is then; what
     * the stream has dropped is left out.
     *
     * Fails with `UNAVAILABLE` when the broker does not answer for a while; throws `PoisonEvent` on an event that
     * cannot be read.
     *
     * @example for await (const facts of log.history('action', '7', 41)) show(facts)
     */
    history: (
      kind: Kind,
      entity: string,
      after: number,
      options?: HistoryOptions,
    ) => AsyncIterable<readonly Recorded[]>;
    /**
     * The events of one entity after a sequence of its stream as they are stored, in order, at most so many; what the
     * stream has dropped is left out. Fails with `UNAVAILABLE` when the broker does not answer for a while.
     */
    stored: (kind: Kind, entity: string, page: Readonly<{ after: number; limit: number }>) => Promise<Stored[]>;
    /** One fact by its sequence; throws `PoisonEvent` when it is there and cannot be read. */
    readOne: (stream: StreamName, sequence: number) => Promise<Recorded | undefined>;
    /**
     * Calls back for every fact of these kinds once it is stored, or for those of one entity: a hint to read again.
     * Returns a function that ends the watch. However many watch, the broker sends each fact once.
     *
     * Hints may be lost in the first moments and while the broker is away, so a caller that relies on them also polls.
     */
    watch: WatchFacts;
  }>;

/** The log of a network on a broker; its streams are there already (`ensureStreams`). Needs no closing of its own. */
export function createLog(nc: NatsConnection, network: string, appending: AppenderOptions = {}): Log {
  const nameOf = (kind: Kind): string => streamName(streamOfKind(kind), network);
  return {
    append: withSpans(createAppender(nc, network, appending)),
    last: async (kind, entities) => {
      const bySubject = new Map(entities.map((entity) => [subjectOf(kind, network, entity), entity]));
      return byEntity(
        nameOf(kind),
        await lastMessages(nc, nameOf(kind), { subjects: [...bySubject.keys()] }),
        (subject) => bySubject.get(subject) ?? subject,
      );
    },
    lastAsOf: async (kind, entities, upTo) => {
      const subjects = entities.map((entity) => subjectOf(kind, network, entity));
      return byEntity(nameOf(kind), await lastMessages(nc, nameOf(kind), { subjects, upTo }), entityIn);
    },
    latest: (kind, most) => latestOf(nc, { name: nameOf(kind), pattern: everyEntity(kind, network), most }),
    hasForgotten: (stream) => hasForgotten(nc, streamName(stream, network)),
    lastOfAll: async (kind) =>
      byEntity(nameOf(kind), await lastOfEach(nc, nameOf(kind), everyEntity(kind, network)), entityIn),
    lastPages: (kind, without = []) =>
      pagesOf(nc, { name: nameOf(kind), pattern: everyEntity(kind, network), without }),
    confirmedLast: async (kind, entity) => {
      const last = await lastAtLeader(nc, nameOf(kind), subjectOf(kind, network, entity));
      return last && recordedFrom(nameOf(kind), last);
    },
    head: (stream) => readHead(nc, streamName(stream, network)),
    complete: async (stream) => await appending.gate?.(stream),
    follow: (stream, after, options) => followStream(nc, { stream, network, after }, options),
    history: (kind, entity, after, options) =>
      historyOf(nc, { stream: nameOf(kind), subject: subjectOf(kind, network, entity), after }, options),
    stored: (kind, entity, page) =>
      storedOf(nc, { stream: nameOf(kind), subject: subjectOf(kind, network, entity) }, page),
    readOne: async (stream, sequence) => {
      const name = streamName(stream, network);
      const match = await messageAt(nc, name, sequence);
      return match ? recordedFrom(name, match) : undefined;
    },
    watch: createWatches(nc, network),
  };
}

function byEntity(
  name: string,
  messages: readonly Stored[],
  entityOf: (subject: string) => string,
): ReadonlyMap<string, Recorded> {
  return new Map(messages.map((message) => [entityOf(message.subject), recordedFrom(name, message)]));
}

type Pages = Readonly<{ name: string; pattern: string; without: readonly FactType[] }>;

async function* pagesOf(nc: NatsConnection, { name, pattern, without }: Pages): AsyncGenerator<readonly Recorded[]> {
  const isWanted = isOfOtherTypes(without);
  for await (const page of lastPages(nc, name, pattern))
    yield page.filter(({ bytes }) => isWanted(bytes)).map((message) => recordedFrom(name, message));
}

/** The last messages of a stream that match a pattern, as facts. */
async function latestOf(
  nc: NatsConnection,
  { name, pattern, most }: Readonly<{ name: string; pattern: string; most: number }>,
): Promise<Recorded[]> {
  const { lastSequence } = await readHead(nc, name);
  const facts: Recorded[] = [];
  for (let from = Math.max(1, lastSequence - most + 1); lastSequence > 0;) {
    const { messages, left } = await messagesOf(nc, name, { subject: pattern, from, most });
    facts.push(...messages.map((message) => recordedFrom(name, message)));
    const last = messages.at(-1);
    if (!last || left === 0) break;
    from = last.sequence + 1;
  }
  return facts.slice(-most);
}

/** Bounds a page. */
type HistoryOptions = Readonly<{ pageSize?: number }>;

const usualPageSize = 500;

/**
 * The facts of one subject after a sequence, page by page; see `Log.history`. Its cost follows the number of those
 * facts, not the stream.
 */
async function* historyOf(
  nc: NatsConnection,
  { stream, subject, after }: Readonly<{ stream: string; subject: string; after: number }>,
  { pageSize = usualPageSize }: HistoryOptions = {},
): AsyncGenerator<readonly Recorded[], void, undefined> {
  for (let from = after + 1; ;) {
    const { messages, left } = await messagesOf(nc, stream, { subject, from, most: pageSize });
    const last = messages.at(-1);
    if (!last) return;
    yield messages.map((message) => recordedFrom(stream, message));
    if (left === 0) return;
    from = last.sequence + 1;
  }
}

/** The messages of one subject after a sequence, at most so many. */
async function storedOf(
  nc: NatsConnection,
  { stream, subject }: Readonly<{ stream: string; subject: string }>,
  { after, limit }: Readonly<{ after: number; limit: number }>,
): Promise<Stored[]> {
  const all: Stored[] = [];
  for (let from = after + 1; all.length < limit;) {
    const { messages, left } = await messagesOf(nc, stream, { subject, from, most: limit - all.length });
    all.push(...messages);
    const last = messages.at(-1);
    if (!last || left === 0) break;
    from = last.sequence + 1;
  }
  return all;
}
