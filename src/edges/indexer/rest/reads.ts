import type { FastifyReply } from 'fastify';
import { AppError } from '../../../kit/errors.ts';
import { wait } from '../../../kit/wait.ts';
import type { ProjectionName } from '../../../projections/projection.ts';
import type { Reading, ReadingAt } from '../../../projections/reading.ts';
import type { Query } from '../../../projections/query.ts';
import { SyncRounds } from '../../../projections/rounds/queries.ts';
import type { RoundRow } from '../../../projections/tables.ts';
import { runQuery } from '../../bus.ts';
import type { Source } from '../../../events/words.ts';
import type { LagTracker } from '../../../engine/log/lag.ts';
import type { ObservedModels } from '../../../engine/models/observed.ts';
import type { NamedInstant } from '../../http/positions.ts';
import { createResolver, type PastLog, type ResolvedInstant } from './as-of.ts';
import { chainAgeMs, positionToken } from './headers.ts';
import { createPastRecords, type PastRecords } from './past-records.ts';

/** The reads of a route: projections, the sources of sync that feed them, and the instant where it is not the head. */
export type ReadScope = Readonly<{
  projections: readonly ProjectionName[];
  sources: readonly Source[];
  instant?: NamedInstant | undefined;
}>;

/** One consistent snapshot, with the rounds that go with it; `ask` runs a query of the bus on this snapshot. */
export type ReadSnapshot = Readonly<{
  reading: Pick<Reading, 'schemas' | 'followed' | 'confirmed' | 'at'>;
  rounds: readonly RoundRow[];
  /** The token of the instant, where one was named. */
  instant?: string | undefined;
  ask: <Answer>(query: Query<unknown, Answer>) => Promise<Answer>;
}>;

/** Answers a read: runs queries over one snapshot and stamps position, lag and age, also on a 404. */
export type Read = <T>(
  reply: FastifyReply,
  scope: ReadScope,
  answer: (snapshot: ReadSnapshot) => Promise<T>,
) => Promise<T>;

/** The parts that reads are made of. */
type ReadOptions = Readonly<{
  reader: Pick<ObservedModels, 'read'>;
  lag: Pick<LagTracker, 'lagMs'>;
  past: PastLog;
  /** Milliseconds since 1970. */
  clock: () => number;
}>;

const followedWithinMs = 2000;
const checkEachMs = 50;

/** Reads with the three headers that every read carries, and those of its instant. */
export function createRead({ reader, lag, past, clock }: ReadOptions): Read {
  const [resolveInstant, records] = [createResolver(past, clock), createPastRecords(past)];
  let known: { of: string; rounds: readonly RoundRow[] } | undefined;
  const roundsOf = async (reading: Reading): Promise<readonly RoundRow[]> => {
    const { incarnation, sequence } = reading.followed.rounds;
    const of = JSON.stringify([reading.schemas.rounds, incarnation, sequence]);
    if (known?.of === of) return known.rounds;
    const match = await runQuery(reading, new SyncRounds({}));
    await reading.confirmed();
    known = { of, rounds: match };
    return match;
  };
  const stamp = (reply: FastifyReply, { projections, sources }: ReadScope, at: Stamped): void => {
    const followed = projections.map((name) => at.reading.followed[name]);
    const behindMs = Math.max(...followed.map(({ stream, sequence }) => lag.lagMs(stream, sequence)));
    const ageMs = chainAgeMs(at.rounds, sources, clock());
    void reply.headers({
      'Annals-Position': positionToken(followed),
      'Annals-Lag-Ms': String(Math.round(behindMs)),
      ...(ageMs === undefined ? {} : { 'Annals-Chain-Age-Ms': String(ageMs) }),
      'Cache-Control': 'no-store',
      ...(at.instant && headersOf(at.instant)),
    });
  };
  return async (reply, scope, answer) => {
    const instant = scope.instant && (await resolveInstant(scope.instant, scope.projections));
    return await untilFollowed(instant, scope, (behind) =>
      reader.read(async (reading) => {
        const rounds = await roundsOf(reading);
        stamp(reply, scope, { reading, rounds, instant });
        if (!instant || isHead(instant, reading, scope))
          return await answer({ reading, rounds, instant: instant?.token, ask: (query) => runQuery(reading, query) });
        if (isBehind(instant, reading, scope)) return behind;
        const at = await pastOf(instant, { reading, scope, records });
        const pastReading = { ...reading, at };
        return await answer({
          reading: pastReading,
          rounds: scope.projections.includes('rounds') ? await records.rounds(at) : rounds,
          instant: instant.token,
          ask: (query) => runQuery(pastReading, query),
        });
      }),
    );
  };
}

type Stamped = Readonly<{ reading: Reading; rounds: readonly RoundRow[]; instant: ResolvedInstant | undefined }>;

function headersOf({ token, timeMs }: ResolvedInstant): Record<string, string> {
  return {
    'Annals-As-Of': token,
    ...(timeMs === undefined ? {} : { 'Memento-Datetime': new Date(timeMs).toUTCString() }),
  };
}

/** How far each projection of a scope has followed its stream beyond an instant; below 0 it has not come there yet. */
const beyond = ({ positions }: ResolvedInstant, { followed }: Reading, { projections }: ReadScope): number[] =>
  projections.map((name) => followed[name].sequence - (positions[followed[name].stream] ?? 0));

const isHead = (...of: Parameters<typeof beyond>): boolean => beyond(...of).every((by) => by === 0);
const isBehind = (...of: Parameters<typeof beyond>): boolean => beyond(...of).some((by) => by < 0);

const notFollowed = Symbol('not followed');

/** Reads again for a while, as long as the read models have not followed the log up to an instant. */
async function untilFollowed<T>(
  instant: ResolvedInstant | undefined,
  { projections }: ReadScope,
  read: (behind: typeof notFollowed) => Promise<T | typeof notFollowed>,
): Promise<T> {
  const deadline = performance.now() + followedWithinMs;
  for (;;) {
    const result = await read(notFollowed);
    if (result !== notFollowed) return result;
    if (!instant || performance.now() > deadline)
      throw new AppError(
        'UNAVAILABLE',
        `The read models of ${projections.join(', ')} have not followed the log up to this instant yet; try again soon`,
      );
    await wait(checkEachMs);
  }
}

type PastReading = Readonly<{ reading: Reading; scope: ReadScope; records: PastRecords }>;

/** The positions of an instant, with the results of its probes where a route shows them. */
async function pastOf({ positions }: ResolvedInstant, { reading, scope, records }: PastReading): Promise<ReadingAt> {
  if (!scope.projections.includes('availability')) return { positions };
  return { positions, availability: await records.availability(reading, { positions }) };
}
