import { type RawBuilder, sql } from 'kysely';
import type { Table } from './columns.ts';
import { pastOf } from './past-tables.ts';
import type { ProjectionName } from './projection.ts';
import type { Reading } from './reading.ts';
import { type Input, slot } from './statement.ts';

/** A main table that keeps its superseded rows, and the projection that it belongs to. */
export type PastTable = Readonly<{ projection: ProjectionName; table: Table }>;

/** The position at which a reading of the past reads a projection; undefined for a reading of the head. */
export function positionOf({ at, followed }: Reading, projection: ProjectionName): number | undefined {
  if (!at) return undefined;
  const { stream, sequence } = followed[projection];
  const position = at.positions[stream];
  if (position === undefined) throw new Error(`A reading of the past has no position of ${stream}`);
  return Math.min(position, sequence);
}

/** Slots `at` and `levels` of the statements below, for a position of a projection. */
export const positionInput = ({ followed }: Reading, projection: ProjectionName, at: number): Input => ({
  at,
  // No row lived longer than the positions there are.
  levels: Array.from({ length: followed[projection].sequence.toString(2).length }, (_, shorter) => shorter + 1),
});

/**
 * The superseded rows that were there at the position in the slot `at`, with all their columns and those of the past.
 *
 * A row of a level ended less than `2^level` positions later, so little more is read of the index than what matches.
 * `offset 0` keeps the planner from joining the levels with all of the table.
 */
export function supersededAt({ schemas }: Reading, { projection, table }: PastTable): RawBuilder<unknown> {
  return sql`(
    select past.* from unnest(${slot('levels')}::int2[]) lived (level) cross join lateral (
      select * from ${sql.id(schemas[projection], pastOf(table)?.name ?? '')} one
      where one.level = lived.level and one.until > ${slot('at')}::int8
        and one.until < ${slot('at')}::int8 + (1::int8 << lived.level) and one.position <= ${slot('at')}::int8
      offset 0
    ) past)`;
}

/** The rows of a table at the position in the slot `at`: live ones unchanged since then, and superseded ones. */
export function relationAt(reading: Reading, from: PastTable): RawBuilder<unknown> {
  const { projection, table } = from;
  const names = [...Object.keys(table.columns), ...Object.keys(table.generated ?? {}), 'position'];
  const columns = sql.join(names.map((name) => sql.id(name)));
  return sql`(
    select ${columns} from ${sql.id(reading.schemas[projection], table.name)} live
    where live.position <= ${slot('at')}::int8 and not live.removed
    union all select ${columns} from ${supersededAt(reading, from)} superseded)`;
}
