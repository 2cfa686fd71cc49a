import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { AppError } from '../../../kit/errors.ts';
import type { Recorded } from '../../../commands/ports.ts';
import { type Kind, type StreamName, streamTable } from '../../../events/streams.ts';
import type { Head } from '../../../engine/log/head.ts';
import type { Instants } from '../../../engine/archive/instants.ts';
import { projections } from '../../../projections/all.ts';
import type { ProjectionName } from '../../../projections/projection.ts';
import type { Followed } from '../../../projections/reading.ts';
import type { CursorPosition } from '../../http/cursor.ts';
import { shown } from '../../http/parameters.ts';
import { publicLogs } from '../../../engine/archive/proof/serving.ts';
import { type NamedInstant, parseNamedInstant, parsePositions } from '../../http/positions.ts';
import { type App, optional, positionPattern } from '../../http/schema.ts';
import { positionToken } from './headers.ts';

const nanosPerMs = 1_000_000n;

/** The form of an instant that a request names. */
export const instantPattern = [
  `^(?:(?:${publicLogs.join('|')}):\\d{1,15}`,
  '\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?Z',
  `${positionPattern})$`,
].join('|');

/** The parameter of an instant. */
export const asOf = optional(
  Type.String({
    pattern: instantPattern,
    description:
      'Answer as of an instant of the past: a token of `Annals-Position`, an RFC 3339 time, or a place such as `ACTIONS:42`. What the index knew then, not what was so on the chain.',
  }),
);

type Named = Readonly<{ query: Readonly<{ as_of?: string | undefined }> }>;

/** The instant that a request names by `as_of`. */
export const instantOf = ({ query: { as_of: text } }: Named): NamedInstant | undefined =>
  text === undefined ? undefined : parseNamedInstant('as_of', text);

/**
 * The instant that a request for one record names by `as_of` or, where it does not, by the header `Accept-Datetime`
 * (RFC 7089), which takes a time as HTTP writes it.
 */
export function recordInstantOf({ query, headers }: Named & Pick<FastifyRequest, 'headers'>): NamedInstant | undefined {
  const date = headers['accept-datetime'];
  if (query.as_of !== undefined || date === undefined) return instantOf({ query });
  const ms = typeof date === 'string' && httpDate.test(date) ? Date.parse(date) : NaN;
  // `Date.parse` takes 31 Feb for a day in March, and any day of the week.
  if (!Number.isNaN(ms) && new Date(ms).toUTCString() === date) return { nanos: BigInt(ms) * nanosPerMs };
  throw new AppError(
    'INVALID_INSTANT',
    `Accept-Datetime is ${shown(String(date))}; it takes a time such as Sat, 31 Jan 2026 12:00:00 GMT.`,
  );
}

const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Refuses `as_of` on every read of `/v1` that has no answers of the past, for nobody who names an instant means now.
 * Call it before the routes are added.
 */
export function refuseInstantsElsewhere(app: Pick<App, 'addHook'>): void {
  const refuse = async ({ query }: FastifyRequest): Promise<void> => {
    if (typeof query === 'object' && query !== null && 'as_of' in query)
      throw new AppError('INVALID_ARGUMENT', 'This is answered as of now alone; leave as_of out.');
  };
  app.addHook('onRoute', (route) => {
    const { querystring } = (route.schema ?? {}) as Readonly<{ querystring?: { properties?: object } }>;
    if (!route.url.startsWith('/v1/') || 'as_of' in (querystring?.properties ?? {})) return;
    if ([route.method].flat().includes('GET')) route.preValidation = [refuse, route.preValidation ?? []].flat();
  });
}

/** A walk keeps the instant of its first page; fails with `OTHER_INSTANT` where a request names another one. */
export function instantOfWalk(
  named: NamedInstant | undefined,
  position: CursorPosition | undefined,
): Readonly<{
  instant: NamedInstant | undefined;
  check: (snapshot: Readonly<{ instant?: string | undefined }>) => void;
}> {
  const positions = position?.instant === undefined ? undefined : parsePositions(position.instant);
  return {
    instant: named ?? (positions && { positions }),
    check: ({ instant }) => {
      if (position && instant !== position.instant)
        throw new AppError(
          'OTHER_INSTANT',
          'This cursor is of another instant than as_of; leave as_of out, or begin with the first page.',
        );
    },
  };
}

/** What the log and its archive know of the past. */
export type PastLog = Instants &
  Readonly<{
    head: (stream: StreamName) => Promise<Omit<Head, 'lastTime'>>;
    /** The last fact of each of some entities at or before a sequence of their stream, as far as it is kept. */
    lastAsOf: (kind: Kind, entities: readonly string[], upTo: number) => Promise<ReadonlyMap<string, Recorded>>;
    /** The last fact of an entity, as the leader of its stream has it. */
    confirmedLast: (kind: Kind, entity: string) => Promise<Pick<Recorded, 'id' | 'sequence'> | undefined>;
    /** Returns whether a stream has dropped an event since it was created. */
    hasForgotten: (stream: StreamName) => Promise<boolean>;
  }>;

/** An instant as the streams of a route have it. */
export type ResolvedInstant = Readonly<{
  positions: Readonly<Partial<Record<StreamName, number>>>;
  /** The same as a token. */
  token: string;
  /** Milliseconds since 1970, to the second: when the last event of it was stored; undefined before the first. */
  timeMs: Promise<number | undefined>;
}>;

/** Finds the position of each stream that some projections follow, at an instant. */
export type ResolveInstant = (named: NamedInstant, of: readonly ProjectionName[]) => Promise<ResolvedInstant>;

const headForMs = 1000;

const streamOf = new Map(projections.map(({ name, stream }) => [name, stream]));

/** The streams that some projections follow, each once, in order. */
export const streamsOf = (of: readonly ProjectionName[]): StreamName[] =>
  [...new Set(of.flatMap((name) => streamOf.get(name) ?? []))].toSorted();

/**
 * Resolves instants against the log; the time of one whose positions are all named is found while it is read.
 *
 * A stream that an instant does not name has the position of the time at which the last named event was stored. Fails
 * with `NOT_YET` for a time to come, `BEYOND_HEAD` for a sequence that the stream does not have yet, `FOREIGN_POSITION`
 * for a token of another log, and `FORGOTTEN` for what a stream does not keep any more.
 */
export function createResolver(past: PastLog, clock: () => number): ResolveInstant {
  const heads = createHeads(past, clock);
  return async (named, of) => {
    const streams = streamsOf(of);
    const isTime = 'nanos' in named;
    if (isTime && named.nanos > BigInt(Math.floor(clock())) * nanosPerMs)
      throw new AppError('NOT_YET', 'This time has not come yet; an instant lies in the past.');
    const known = isTime ? new Map<StreamName, number>() : await checked(heads, locationsOf(named));
    const searched = positionsWhen(past, heads, { known, of: streams.filter((stream) => !known.has(stream)) });
    // A search by an event finds its time as well.
    const time = isTime ? Promise.resolve(named.nanos) : searched.then(() => lastStored(past, heads, known));
    const timeMs = time.then((nanos) => (nanos === undefined ? undefined : Number(nanos / 1_000_000_000n) * 1000));
    timeMs.catch(() => undefined);
    const followed = await Promise.all(
      streams.map(async (stream): Promise<Followed> => {
        const sequence = known.get(stream) ?? (await searched).get(stream) ?? (await positionAt(past, stream, time));
        const { incarnation, firstSequence } = await heads(stream, sequence);
        if (streamTable[stream].keeps !== 'forever' && firstSequence > 1 && sequence < firstSequence)
          throw await forgotten(past, stream, firstSequence);
        return { stream, incarnation, sequence };
      }),
    );
    return {
      positions: Object.fromEntries(followed.map(({ stream, sequence }) => [stream, sequence])),
      token: positionToken(followed),
      timeMs,
    };
  };
}

type ReadHead = (stream: StreamName, sequence: number) => Promise<Omit<Head, 'lastTime'>>;

/** Reads ends of streams, each once a second, or anew where a sequence lies beyond. */
function createHeads(past: PastLog, clock: () => number): ReadHead {
  const known = new Map<StreamName, Readonly<{ head: Omit<Head, 'lastTime'>; readAt: number }>>();
  return async (stream, sequence) => {
    const before = known.get(stream);
    if (before && clock() - before.readAt < headForMs && sequence <= before.head.lastSequence) return before.head;
    const head = await past.head(stream);
    known.set(stream, { head, readAt: clock() });
    return head;
  };
}

type Location = Readonly<{ stream: StreamName; sequence: number; incarnation?: string }>;

const locationsOf = (named: Exclude<NamedInstant, { nanos: bigint }>): readonly Location[] =>
  'place' in named ? [named.place] : [...named.positions].map(([stream, position]) => ({ stream, ...position }));

/** The sequences of locations, once the log is known to have them. */
async function checked(heads: ReadHead, locations: readonly Location[]): Promise<Map<StreamName, number>> {
  for (const { stream, sequence, incarnation } of locations) {
    const head = await heads(stream, sequence);
    if (incarnation !== undefined && incarnation !== head.incarnation)
      throw new AppError(
        'FOREIGN_POSITION',
        `This token is of another ${stream} than this instance follows; tokens hold for the log that gave them out.`,
      );
    if (sequence > head.lastSequence)
      throw new AppError(
        'BEYOND_HEAD',
        `${stream} ends at ${head.lastSequence}; sequence ${sequence} has not been written yet.`,
      );
  }
  return new Map(locations.map(({ stream, sequence }) => [stream, sequence]));
}

type Searched = Readonly<{ known: ReadonlyMap<StreamName, number>; of: readonly StreamName[] }>;

/** The positions of streams at the time of the event that an instant names, where that is a single one. */
async function positionsWhen(
  past: PastLog,
  heads: ReadHead,
  { known, of }: Searched,
): Promise<Map<StreamName, number>> {
  const [[stream, sequence] = []] = known;
  if (!stream || sequence === undefined || known.size > 1 || of.length === 0) return new Map();
  const { incarnation } = await heads(stream, sequence);
  const event = { stream, sequence, incarnation };
  return new Map(await Promise.all(of.map(async (one) => [one, await past.positionWhen(one, event)] as const)));
}

async function positionAt(past: PastLog, stream: StreamName, time: Promise<bigint | undefined>): Promise<number> {
  const nanos = await time;
  return nanos === undefined ? 0 : await past.positionAt(stream, nanos);
}

/** When the last of some events was stored. */
async function lastStored(
  past: PastLog,
  heads: ReadHead,
  known: ReadonlyMap<StreamName, number>,
): Promise<bigint | undefined> {
  const times = await Promise.all(
    [...known].map(async ([stream, sequence]) => {
      const { incarnation } = await heads(stream, sequence);
      return await past.storedAt(stream, sequence, incarnation);
    }),
  );
  return times
    .filter((time) => time !== undefined)
    .reduce<bigint | undefined>((a, b) => (a && a > b ? a : b), undefined);
}

async function forgotten(past: PastLog, stream: StreamName, first: number): Promise<AppError> {
  const nanos = await past.storedAt(stream, first);
  const earliest =
    nanos === undefined ? '' : ` The earliest instant is ${new Date(Number(nanos / nanosPerMs)).toISOString()}.`;
  return new AppError('FORGOTTEN', `What ${stream} had then is not kept any more.${earliest}`);
}
