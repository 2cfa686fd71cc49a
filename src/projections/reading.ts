import type { Kysely } from 'kysely';
import type { StreamName } from '../events/streams.ts';
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
 * One consistent look at the live generations: all queries made with it see the same instant, and `followed` is of that
 * instant.
 *
 * @example reading.db.withSchema(reading.schemas.actions).selectFrom('actions').selectAll()
 */
export type Reading = Readonly<{
  db: Kysely<Tables>;
  /** The same for all looks at one database: what is kept of looks is kept by it. */
  reader: object;
  /** Schema that holds the tables of a projection. */
  schemas: Readonly<Record<ProjectionName, string>>;
  followed: Readonly<Record<ProjectionName, Followed>>;
  /**
   * Waits until it is sure that `schemas` and `followed` are of that instant; before it nothing that was read may be
   * kept.
   */
  confirmed: () => Promise<void>;
}>;
