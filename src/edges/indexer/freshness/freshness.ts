import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { StreamName } from '../../../events/streams.ts';
import { AppError } from '../../../kit/errors.ts';
import { wait } from '../../../kit/wait.ts';
import type { ProjectionName } from '../../../projections/projection.ts';
import type { Followed, Reading } from '../../../projections/reading.ts';
import type { RoundRow } from '../../../projections/tables.ts';
import { shown } from '../../http/parameters.ts';
import { parsePositions, type Positions } from '../../http/positions.ts';
import { optional } from '../../http/schema.ts';
import { type PastLog, streamsOf } from '../rest/as-of.ts';
import { createWaiting, type OnMoved, type Targets } from './waiting.ts';

/** The parameter of a height that an answer has to include. */
export const minHeight = optional(
  Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description:
      'Wait until the read models include the chain up to this height, as long as `Prefer: wait` says; then 503 `BEHIND`.',
  }),
);

const usualWaitSeconds = 2;
const mostWaitSeconds = 10;
/** Between two reads of one request that waits; what wakes it is a hint. */
const pauseMs = 50;
const retryAfterSeconds = 1;

/** What an answer has to include at least, and how long the caller waits for it. */
export type Freshness = Readonly<{
  positions: Positions | undefined;
  height: number | undefined;
  /** As `Prefer` says; undefined where it does not. */
  preferred: number | undefined;
}>;

/** The freshness that a request names; fails with `INVALID_ARGUMENT` where `Annals-Position` is no token. */
export function freshnessOf({ headers, query }: Pick<FastifyRequest, 'headers' | 'query'>): Freshness {
  const token = headers['annals-position'];
  const positions = token === undefined ? undefined : parsePositions(String(token));
  if (token !== undefined && !positions)
    throw new AppError(
      'INVALID_ARGUMENT',
      `Annals-Position is ${shown(String(token))}; it takes a token as answers have it in their header of that name.`,
    );
  const height: unknown = Object(query).min_height;
  return {
    positions,
    height: typeof height === 'number' ? height : undefined,
    preferred: waitOf(String(headers.prefer ?? '')),
  };
}

/** Seconds of the preference `wait` (RFC 7240), at most ten; a preference that cannot be read is none. */
function waitOf(prefer: string): number | undefined {
  const [, digits] = /(?:^|,)\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:$|[,;])/i.exec(prefer) ?? [];
  return digits === undefined ? undefined : Math.min(Number(digits), mostWaitSeconds);
}

/** The read models lack something of which an answer has to be made. */
export class Lack {
  /** What they have to reach; undefined where only the ends of the streams say that. */
  readonly targets: Targets | undefined;
  readonly isOfInstant: boolean;
  constructor(targets: Targets | undefined, isOfInstant = false) {
    this.targets = targets;
    this.isOfInstant = isOfInstant;
  }
}

/** What is read: the projections of a route, and the sources that feed them. */
type Scope = Readonly<{ projections: readonly ProjectionName[]; sources: readonly string[] }>;

type Minimum = Readonly<{
  scope: Scope;
  /** The positions of an instant that is read. */
  instant: Readonly<Partial<Record<StreamName, number>>> | undefined;
  freshness: Freshness;
}>;

/** Returns what a snapshot lacks. */
type LackOf = (reading: Pick<Reading, 'followed'>, rounds: readonly RoundRow[]) => Lack | undefined;

/** Reads again, as long as a snapshot lacks something and there is time. */
export type FreshRead = <T>(
  reply: FastifyReply,
  minimum: Minimum,
  read: (lackOf: LackOf) => Promise<T | Lack>,
) => Promise<T>;

/**
 * Makes reads wait for what they have to include.
 *
 * Fails with `OTHER_LOG` and `BEYOND_LOG` at once for what never comes, and with `BEHIND` when the time is over.
 */
export function createFreshReads({
  past,
  onMoved,
  signal,
}: Readonly<{ past: Pick<PastLog, 'head'>; onMoved: OnMoved; signal: AbortSignal }>): FreshRead {
  const waiting = createWaiting(onMoved, signal);
  const endsAfter = createEnds(past);
  return async <T>(reply: FastifyReply, minimum: Minimum, read: (lackOf: LackOf) => Promise<T | Lack>): Promise<T> => {
    const { freshness, scope } = minimum;
    const waitMs = (freshness.preferred ?? usualWaitSeconds) * 1000;
    const deadline = performance.now() + waitMs;
    let ends: Ends | undefined;
    let roundsAt = '';
    const lackOf: LackOf = (reading, rounds) => {
      if (freshness.height !== undefined) roundsAt = JSON.stringify(reading.followed.rounds);
      return lackIn(minimum, { reading, rounds, ends });
    };
    for (let tries = 0; ; tries += 1) {
      const isLast = performance.now() >= deadline || signal.aborted;
      const result = await read(lackOf);
      if (!(result instanceof Lack)) return result;
      if (tries === 0) await refuseForeign(freshness.positions, scope, past);
      if (!result.targets) {
        ends = await endsAfter(roundsAt, scope);
        continue;
      }
      if (isLast) throw behind(reply, scope, result);
      const withinMs = Math.max(deadline - performance.now(), 0);
      await waiting.until(result.targets, { withinMs, answer: reply.raw });
      if (tries > 0) await wait(Math.min(pauseMs, withinMs));
    }
  };
}

type Ends = ReadonlyMap<StreamName, number>;

/**
 * The ends of streams, read after some position of the rounds was known: whatever a round found lies before them, for
 * its own fact is written last. Read once for each position.
 */
function createEnds({ head }: Pick<PastLog, 'head'>): (roundsAt: string, scope: Scope) => Promise<Ends> {
  let known: { of: string; ends: Map<StreamName, Promise<number>> } = { of: '', ends: new Map() };
  return async (roundsAt, { projections }) => {
    if (known.of !== roundsAt) known = { of: roundsAt, ends: new Map() };
    const { ends } = known;
    const all = streamsOf(projections).map(async (stream) => {
      const end = ends.get(stream) ?? head(stream).then(({ lastSequence }) => lastSequence);
      ends.set(stream, end);
      end.catch(() => ends.delete(stream));
      return [stream, await end] as const;
    });
    return new Map(await Promise.all(all));
  };
}

type Seen = Readonly<{ reading: Pick<Reading, 'followed'>; rounds: readonly RoundRow[]; ends: Ends | undefined }>;

function lackIn(
  { scope, instant, freshness }: Minimum,
  { reading: { followed }, rounds, ends }: Seen,
): Lack | undefined {
  if (!instant && !freshness.positions && freshness.height === undefined) return undefined;
  const below = (has: (one: Followed) => number | undefined): Targets =>
    new Map(
      scope.projections.flatMap((name) => {
        const target = has(followed[name]);
        return target === undefined ? [] : [[name, target] as const];
      }),
    );
  const beforeInstant = below(({ stream, sequence }) => missing(sequence, instant?.[stream]));
  if (beforeInstant.size > 0) return new Lack(beforeInstant, true);
  const beforeToken = below(({ stream, incarnation, sequence }) => {
    const position = freshness.positions?.get(stream);
    return position?.incarnation === incarnation ? missing(sequence, position.sequence) : position?.sequence;
  });
  if (beforeToken.size > 0) return new Lack(beforeToken);
  if (freshness.height === undefined) return undefined;
  const heights = scope.sources.map((source) => rounds.find((one) => one.source === source)?.completed_height ?? -1);
  if (Math.min(...heights) < freshness.height) return new Lack(new Map([['rounds', followed.rounds.sequence + 1]]));
  if (!ends) return new Lack(undefined);
  const beforeEnds = below(({ stream, sequence }) => missing(sequence, ends.get(stream)));
  return beforeEnds.size > 0 ? new Lack(beforeEnds) : undefined;
}

const missing = (sequence: number, target: number | undefined): number | undefined =>
  target !== undefined && sequence < target ? target : undefined;

/** What the log does not have now is not waited for: a stranger must not make us wait for what does not exist. */
async function refuseForeign(positions: Positions | undefined, { projections }: Scope, past: Pick<PastLog, 'head'>) {
  const streams = streamsOf(projections);
  for (const [stream, { incarnation, sequence }] of positions ?? []) {
    if (!streams.includes(stream)) continue;
    const head = await past.head(stream);
    if (incarnation !== head.incarnation)
      throw new AppError(
        'OTHER_LOG',
        `Annals-Position is of another ${stream} than this instance follows; tokens hold for the log that gave them out.`,
      );
    if (sequence > head.lastSequence)
      throw new AppError(
        'BEYOND_LOG',
        `${stream} ends at ${head.lastSequence}; sequence ${sequence} of Annals-Position has not been written.`,
      );
  }
}

function behind(reply: FastifyReply, { projections }: Scope, { isOfInstant }: Lack): AppError {
  const models = `The read models of ${projections.join(', ')}`;
  if (isOfInstant)
    return new AppError('UNAVAILABLE', `${models} have not followed the log up to this instant yet; try again soon`);
  void reply.header('retry-after', String(retryAfterSeconds));
  return new AppError('BEHIND', `${models} are not as far yet; Annals-Position says how far they are. Try again soon.`);
}
