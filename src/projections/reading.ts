import type { CompiledQuery, Kysely } from 'kysely';
import type { StreamName } from '../events/streams.ts';
import type { RowOf } from './columns.ts';
import type { availabilityTable } from './fleet/fleet-tables.ts';
import type { ProjectionName } from './projection.ts';
import type { Tables } from './tables.ts';

/** How far a generation has followed its stream. */
export type Followed = Readonly<{
  stream: StreamName;
  /** RFC 3339: when the stream was created; another one is another log. */
  incarnation: string;
  /** Sequence of the last fact applied; 0 before the first. */
  sequence: number;
}>;

/**
 * An instant of the past: the position of each stream that the queries of a reading depend on, and the rows of read
 * models that keep no superseded rows, as they were then.
 */
export type ReadingAt = Readonly<{
  positions: Readonly<Partial<Record<StreamName, number>>>;
  availability?: readonly RowOf<typeof availabilityTable>[];
}>;

/**
 * A snapshot of the live generations: all its queries see the same instant, and `followed` is of that instant.
 *
 * @example reading.db.withSchema(reading.schemas.actions).selectFrom('actions').selectAll()
 */
export type Reading = Readonly<{
  db: Kysely<Tables>;
  /** Runs what was compiled before, without what Kysely does around each query. */
  run: (query: Pick<CompiledQuery, 'sql' | 'parameters'>) => Promise<readonly object[]>;
  /** The same object for all snapshots of one database: caches across snapshots use it as their key. */
  reader: object;
  /** Schema that holds the tables of a projection. */
  schemas: Readonly<Record<ProjectionName, string>>;
  followed: Readonly<Record<ProjectionName, Followed>>;
  /** The instant of the past that is read; the head where it is left out. */
  at?: ReadingAt;
}>;
