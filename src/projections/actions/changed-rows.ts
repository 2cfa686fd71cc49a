import { type RawBuilder, sql } from 'kysely';
import type { Reading } from '../reading.ts';
import { slot } from '../statement.ts';

/**
 * The rows of the actions that changed after a position, `limit` at most, in the words of a `from` clause.
 *
 * The order makes PostgreSQL read the index of the positions, whatever it expects of the bound.
 */
export const changedRows = (
  { schemas }: Reading,
  columns: readonly string[],
  limit: number,
): RawBuilder<unknown> => sql`(
  select ${sql.join(columns.map((column) => sql.id(column)))} from ${sql.id(schemas.actions, 'actions')}
  where position > ${slot('after')}::int8 order by position limit ${sql.lit(limit)})`;
