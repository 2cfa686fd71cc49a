import { type RawBuilder, sql } from 'kysely';
import { actionTable } from './actions/action-tables.ts';
import { supernodeTable } from './fleet/fleet-tables.ts';
import { pastOf } from './past-tables.ts';
import { answered, Query } from './query.ts';
import type { Reading } from './reading.ts';
import { positionOf } from './relation.ts';
import { run, slot } from './statement.ts';

/** A version of a record: the sequence of the fact that made it, and of the one that replaced or removed it. */
export type Version = Readonly<{ from: number; until: number | null }>;

/** The newest versions of a record, the newest first, and how many there are. */
export type Versions = Readonly<{ versions: readonly Version[]; total: number }>;

const tables = { actions: actionTable, supernodes: supernodeTable };

type VersionedRecord = Readonly<{ of: keyof typeof tables; id: string; limit: number }>;

/** The versions of an action or a SuperNode; an action's id is decimal text. */
export class VersionsOfRecord extends Query<VersionedRecord, Versions> {}

/** What answers the query of versions. */
export const versionQueries = [answered(VersionsOfRecord, versionsOf)];

type Row = Readonly<{ from: number; until: number | null; total: number }>;

async function versionsOf(reading: Reading, { of, id, limit }: VersionedRecord): Promise<Versions> {
  const at = positionOf(reading, of) ?? null;
  const rows = await run<Row>(reading, {
    shape: `versions ${reading.schemas[of]}`,
    text: () => textOf(reading, of),
    given: { id, at, limit },
  });
  return { versions: rows.map(({ from, until }) => ({ from, until })), total: rows[0]?.total ?? 0 };
}

/** What came after the instant of the reading is not known yet. */
function textOf({ schemas }: Reading, of: keyof typeof tables): RawBuilder<unknown> {
  const table = tables[of];
  const isOf = sql`id = ${slot('id')}::${sql.raw(table.columns.id)}`;
  const at = sql`${slot('at')}::int8`;
  return sql`
    select version.position as from, case when version.until <= coalesce(${at}, version.until) then version.until end as until,
      count(*) over ()::int8 as total
    from (
      select position, null::int8 as until from ${sql.id(schemas[of], table.name)} where ${isOf} and not removed
      union all select position, until from ${sql.id(schemas[of], pastOf(table)?.name ?? '')} where ${isOf}
    ) version
    where ${at} is null or version.position <= ${at} order by 1 desc limit ${slot('limit')}`;
}
