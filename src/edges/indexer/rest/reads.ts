import type { FastifyReply } from 'fastify';
import type { ProjectionName } from '../../../projections/projection.ts';
import type { Reading } from '../../../projections/reading.ts';
import type { Query } from '../../../projections/query.ts';
import { SyncRounds } from '../../../projections/rounds/queries.ts';
import type { RoundRow } from '../../../projections/tables.ts';
import { runQuery } from '../../bus.ts';
import type { Source } from '../../../events/words.ts';
import type { LagTracker } from '../../../engine/log/lag.ts';
import type { ObservedModels } from '../../../engine/models/observed.ts';
import { chainAgeMs, positionToken } from './headers.ts';

/** The reads of a route: projections, and the sources of sync that feed them. */
export type ReadScope = Readonly<{ projections: readonly ProjectionName[]; sources: readonly Source[] }>;

/** One consistent snapshot, with the rounds that go with it; `ask` runs a query of the bus on this snapshot. */
export type ReadSnapshot = Readonly<{
  reading: Pick<Reading, 'schemas' | 'followed' | 'confirmed'>;
  rounds: readonly RoundRow[];
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
  /** Milliseconds since 1970. */
  clock: () => number;
}>;

/** Reads with the three headers that every read carries. */
export function createRead({ reader, lag, clock }: ReadOptions): Read {
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
  return async (reply, scope, answer) =>
    await reader.read(async (reading) => {
      const rounds = await roundsOf(reading);
      const followed = scope.projections.map((name) => reading.followed[name]);
      const behindMs = Math.max(...followed.map(({ stream, sequence }) => lag.lagMs(stream, sequence)));
      const ageMs = chainAgeMs(rounds, scope.sources, clock());
      void reply.headers({
        'Annals-Position': positionToken(followed),
        'Annals-Lag-Ms': String(Math.round(behindMs)),
        ...(ageMs === undefined ? {} : { 'Annals-Chain-Age-Ms': String(ageMs) }),
        'Cache-Control': 'no-store',
      });
      return await answer({ reading, rounds, ask: (query) => runQuery(reading, query) });
    });
}
