import type { FastifyReply } from 'fastify';
import type { ProjectionName } from '../../../projections/projection.ts';
import type { Followed, Reading, ReadingAt } from '../../../projections/reading.ts';
import type { Query } from '../../../projections/query.ts';
import { SyncRounds } from '../../../projections/rounds/queries.ts';
import type { RoundRow } from '../../../projections/tables.ts';
import { runQuery } from '../../bus.ts';
import type { Source } from '../../../events/words.ts';
import type { LagTracker } from '../../../engine/log/lag.ts';
import type { ObservedModels } from '../../../engine/models/observed.ts';
import type { NamedInstant } from '../../http/positions.ts';
import { createResolver, type PastLog, type ResolvedInstant } from './as-of.ts';
import { lastOfScope } from '../freshness/last-of-scope.ts';
import { createEntityTags, type TaggedProgram, vary } from '../freshness/entity-tags.ts';
import { namesTag } from '../../http/if-none-match.ts';
import { createFreshReads, freshnessOf } from '../freshness/freshness.ts';
import { chainAgeMs, positionToken } from './headers.ts';
import { createPastRecords, type PastRecords } from './past-records.ts';
import type { OnMoved } from '../freshness/waiting.ts';

/** The reads of a route: projections, the sources of sync that feed them, and the instant where it is not the head. */
export type ReadScope = Readonly<{
  projections: readonly ProjectionName[];
  sources: readonly Source[];
  instant?: NamedInstant | undefined;
}>;

/** One consistent snapshot, with the rounds that go with it; `ask` runs a query of the bus on this snapshot. */
export type ReadSnapshot = Readonly<{
  reading: Pick<Reading, 'schemas' | 'followed' | 'at'>;
  rounds: readonly RoundRow[];
  /** Entity tag of the answer. */
  tag: string;
  /** The token of the instant, where one was named. */
  instant?: string | undefined;
  ask: <Answer>(query: Query<unknown, Answer>) => Promise<Answer>;
}>;

/**
 * Answers a read: runs queries over one snapshot and stamps position, lag and age, also on a 404.
 *
 * Sets status 304 and runs nothing where the caller has the answer already.
 */
export type Read = <T>(
  reply: FastifyReply,
  scope: ReadScope,
  answer: (snapshot: ReadSnapshot) => Promise<T>,
) => Promise<T | NotModified>;

/** The caller has the answer already. */
export const notModified: unique symbol = Symbol('not modified');
type NotModified = typeof notModified;

/** The parts that reads are made of. */
type ReadOptions = Readonly<{
  reader: Pick<ObservedModels, 'read'>;
  lag: Pick<LagTracker, 'lagMs'>;
  past: PastLog;
  onMoved: OnMoved;
  /** Ends all waits. */
  signal: AbortSignal;
  /** Milliseconds since 1970. */
  clock: () => number;
}> &
  TaggedProgram;

/** An instant is closed that long after it: the log's clock and ours may differ, and its second goes on. */
const closedAfterMs = 60_000;
const varyBy = ['Accept', 'Accept-Datetime'];

/** Reads with the three headers that every read carries, and those of its instant. */
export function createRead({ reader, lag, past, clock, ...others }: ReadOptions): Read {
  const [resolveInstant, records] = [createResolver(past, clock), createPastRecords(past)];
  const tagOf = createEntityTags(others);
  const fresh = createFreshReads({ past, ...others });
  const tokenOf = lastOfScope(({ followed }, projections) => positionToken(projections.map((name) => followed[name])));
  let known: { of: Followed; rounds: readonly RoundRow[] } | undefined;
  const roundsOf = async (reading: Reading): Promise<readonly RoundRow[]> => {
    const of = reading.followed.rounds;
    if (known?.of === of) return known.rounds;
    const match = await runQuery(reading, new SyncRounds({}));
    known = { of, rounds: match };
    return match;
  };
  const stamp = (reply: FastifyReply, { projections, sources }: ReadScope, at: Stamped): void => {
    const followed = projections.map((name) => at.reading.followed[name]);
    const behindMs = Math.max(...followed.map(({ stream, sequence }) => lag.lagMs(stream, sequence)));
    const ageMs = chainAgeMs(at.rounds, sources, clock());
    void reply.headers({
      'Annals-Position': tokenOf(at.reading, projections),
      'Annals-Lag-Ms': String(Math.round(behindMs)),
      ...(ageMs === undefined ? {} : { 'Annals-Chain-Age-Ms': String(ageMs) }),
      'Cache-Control': 'no-store',
      ...(at.instant && { 'Annals-As-Of': at.instant.token }),
    });
  };
  return async <T>(reply: FastifyReply, scope: ReadScope, answer: (snapshot: ReadSnapshot) => Promise<T>) => {
    const instant = scope.instant && (await resolveInstant(scope.instant, scope.projections));
    const { url, headers } = reply.request;
    const freshness = freshnessOf(reply.request);
    vary(reply, ...varyBy);
    if (freshness.preferred !== undefined) void reply.header('Preference-Applied', `wait=${freshness.preferred}`);
    const answering = fresh<Tagged<T>>(reply, { scope, instant: instant?.positions, freshness }, (lackOf) =>
      reader.read(async (reading) => {
        const rounds = await roundsOf(reading);
        stamp(reply, scope, { reading, rounds, instant });
        const lack = lackOf(reading, rounds);
        if (lack) return lack;
        const tag = tagOf({ url, reading, scope, instant });
        if (namesTag(headers['if-none-match'], tag)) return { tag, result: notModified };
        const snapshot = await snapshotOf({ reading, rounds, scope, instant, records });
        return { tag, result: await answer({ ...snapshot, tag }) };
      }),
    );
    const [answered, timed] = await Promise.allSettled([answering, instant?.timeMs]);
    if (timed.status === 'rejected') throw timed.reason;
    const timeMs = timed.value;
    if (timeMs !== undefined) void reply.header('Memento-Datetime', new Date(timeMs).toUTCString());
    if (answered.status === 'rejected') throw answered.reason;
    const { tag, result } = answered.value;
    void reply.headers({ ETag: tag, 'Cache-Control': cachingOf(timeMs, clock()) });
    if (result === notModified) void reply.code(304);
    return result;
  };
}

/**
 * How long caches may hold an answer without a request: that of a closed instant for a while, for a corrected
 * projection corrects the past as well; any other one not at all.
 */
function cachingOf(timeMs: number | undefined, now: number): string {
  const isClosed = timeMs !== undefined && now - timeMs > closedAfterMs;
  return isClosed ? 'public, max-age=3600' : 'no-cache';
}

type Untagged = Omit<ReadSnapshot, 'tag'>;
type Tagged<T> = Readonly<{ tag: string; result: T | NotModified }>;
type Stamped = Readonly<{ reading: Reading; rounds: readonly RoundRow[]; instant: ResolvedInstant | undefined }>;

const isHead = ({ positions }: ResolvedInstant, { followed }: Reading, { projections }: ReadScope): boolean =>
  projections.every((name) => followed[name].sequence === (positions[followed[name].stream] ?? 0));

type Snapshotted = Stamped & Readonly<{ scope: ReadScope; records: PastRecords }>;

/** The snapshot at the head, or at an instant that the read models have followed the log beyond. */
async function snapshotOf({ reading, rounds, scope, instant, records }: Snapshotted): Promise<Untagged> {
  if (!instant || isHead(instant, reading, scope))
    return { reading, rounds, instant: instant?.token, ask: (query) => runQuery(reading, query) };
  const at = await pastOf(instant, { reading, scope, records });
  const pastReading = { ...reading, at };
  return {
    reading: pastReading,
    rounds: scope.projections.includes('rounds') ? await records.rounds(at) : rounds,
    instant: instant.token,
    ask: (query) => runQuery(pastReading, query),
  };
}

type PastReading = Readonly<{ reading: Reading; scope: ReadScope; records: PastRecords }>;

/** The positions of an instant, with the results of its probes where a route shows them. */
async function pastOf({ positions }: ResolvedInstant, { reading, scope, records }: PastReading): Promise<ReadingAt> {
  if (!scope.projections.includes('availability')) return { positions };
  return { positions, availability: await records.availability(reading, { positions }) };
}
