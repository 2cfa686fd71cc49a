import type pg from 'pg';
import type { ColumnType, Index, Table } from '../../../projections/columns.ts';
import { typeOf } from '../column-types.ts';
import { fingerprintOf } from './fingerprint.ts';
import { type Folding, storedTables } from './folding.ts';
import { type Generation, generationColumns, generationSchema, metaSchema, previousGeneration } from './generations.ts';

/** Readers may still read a retired generation for this long. */
export const readableForMs = 60_000;
const dropLockTimeoutMs = 2000;

/**
 * Makes the row and the empty tables of a projection's next generation; keys and indexes come later (`createKey`,
 * `createIndexes`).
 */
export async function createGeneration(
  client: pg.ClientBase,
  folding: Folding,
  { network, incarnation }: { network: string; incarnation: string },
): Promise<Generation> {
  const meta = `${metaSchema(network)}.generations`;
  const { rows: last } = await client.query<{ last: number }>(
    `select coalesce(max(generation), 0) as last from ${meta} where projection = $1`,
    [folding.name],
  );
  const generation = (last[0]?.last ?? 0) + 1;
  const schema = generationSchema(network, folding.name, generation);
  await client.query('begin');
  await client.query(`create schema ${schema}`);
  for (const statement of tableStatements(folding, schema)) await client.query(statement);
  const { rows } = await client.query<Generation>(
    `insert into ${meta} (projection, generation, version, fingerprint, schema_name, status, stream, incarnation)
      values ($1, $2, $3, $4, $5, 'building', $6, $7) returning ${generationColumns}`,
    [folding.name, generation, folding.version, fingerprintOf(folding), schema, folding.stream, incarnation],
  );
  await client.query('commit');
  const [made] = rows;
  if (!made) throw new Error(`Generation ${generation} of ${folding.name} was not recorded`);
  return made;
}

/** Makes the key of a table, by which it can be written row by row. */
export async function createKey(client: pg.ClientBase, schema: string, { name, key, covered }: Table): Promise<void> {
  const more = covered ? ` include (${listed(covered)})` : '';
  await client.query(`alter table ${schema}.${quoted(name)} add primary key (${listed(key)})${more}`);
}

/** Makes the indexes of a table that readers need: the end of a load, in no transaction. */
export async function createIndexes(client: pg.ClientBase, schema: string, table: Table): Promise<void> {
  const { name, indexes = [] } = table;
  for (const index of indexes) await client.query(`create index on ${schema}.${quoted(name)} ${indexAsSql(index)}`);
}

/** Refreshes the planner's statistics of the tables, upon which every connection plans anew. */
export async function analyzeTables(client: pg.ClientBase, folding: Folding, schema: string): Promise<void> {
  for (const { name } of storedTables(folding)) await client.query(`analyze ${schema}.${quoted(name)}`);
}

/** Vacuums a table that was filled and refreshes its statistics; must run outside a transaction. */
export async function vacuumTable(client: pg.ClientBase, schema: string, { name }: Table): Promise<void> {
  // PostgreSQL counts a table without statistics as small, and one that was analyzed while empty as empty for ever.
  const { rowCount } = await client.query(`select from ${schema}.${quoted(name)} limit 1`);
  if (rowCount !== 0) await client.query(`vacuum (analyze) ${schema}.${quoted(name)}`);
}

/** Drops generations that were never finished; the caller must hold the projection's build lock. */
export async function dropUnfinished(client: pg.ClientBase, network: string, projection: string): Promise<void> {
  await dropGenerations(client, network, projection, `status = 'building'`);
}

/**
 * Drops generations that no reader can see any more, except for the previous one, where `keepPrevious` is true.
 *
 * Gives precedence to sessions that still hold one of their tables: then it fails with `55P03`, and a later call drops
 * them.
 */
export async function dropRetired(
  client: pg.ClientBase,
  network: string,
  { projection, keepPrevious }: { projection: string; keepPrevious: boolean },
): Promise<void> {
  const previous = await previousGeneration(client, { network, projection });
  const others = keepPrevious && previous ? `and generation <> ${previous.generation}` : '';
  const old = `status = 'retired' and retired_at <= now() - interval '${readableForMs} milliseconds' ${others}`;
  await dropGenerations(client, network, projection, old);
}

async function dropGenerations(
  client: pg.ClientBase,
  network: string,
  projection: string,
  which: string,
): Promise<void> {
  const meta = `${metaSchema(network)}.generations`;
  await client.query('begin');
  await client.query(`set local lock_timeout = ${dropLockTimeoutMs}`);
  const { rows } = await client.query<{ schema: string }>(
    `select schema_name as schema from ${meta} where projection = $1 and ${which} for update skip locked`,
    [projection],
  );
  for (const { schema } of rows) {
    await client.query(`drop schema if exists ${schema} cascade`);
    await client.query(`delete from ${meta} where schema_name = $1`, [schema]);
  }
  await client.query('commit');
}

const notices = { autovacuum_vacuum_scale_factor: 0.02, autovacuum_analyze_scale_factor: 0.02 };
/** Rows that change often get room for updates within their page. */
const hot = { ...notices, fillfactor: 50 };

function tableStatements(folding: Folding, schema: string): string[] {
  const counters = new Set(folding.counters.map(({ table }) => table.name));
  const isHot = ({ name, indexes = [] }: Table): boolean =>
    counters.has(name) || (name === folding.table.name && indexes.length === 0);
  return storedTables(folding).flatMap((table) => [
    createTable(schema, table, isHot(table) ? hot : notices),
    ...withoutStatistics(schema, table),
  ]);
}

/**
 * PostgreSQL searches tables with indexes by the indexed columns: statistics of the other columns are expensive and of
 * no use.
 */
function withoutStatistics(schema: string, { name, key, covered = [], columns, indexes = [] }: Table): string[] {
  if (indexes.length === 0) return [];
  const sought = new Set([...key, ...covered, ...indexes.flatMap((index) => indexAsSql(index).split(/\W+/))]);
  const settings = Object.keys(columns)
    .filter((column) => !sought.has(column))
    .map((column) => `alter column ${quoted(column)} set statistics 0`);
  return settings.length === 0 ? [] : [`alter table ${schema}.${quoted(name)} ${settings.join(', ')}`];
}

function createTable(
  schema: string,
  { name, columns, generated = {} }: Table,
  storage: Readonly<Record<string, number>>,
): string {
  const lines = [
    ...Object.entries(columns).map(([column, type]) => `${quoted(column)} ${columnType(type)}`),
    ...Object.entries(generated).map(
      ([column, { type, as }]) => `${quoted(column)} ${type} generated always as (${as}) stored`,
    ),
  ];
  const settings = Object.entries(storage).map(([setting, value]) => `${setting} = ${value}`);
  return `create table ${schema}.${quoted(name)} (${lines.join(', ')}) with (${settings.join(', ')})`;
}

function columnType(type: ColumnType): string {
  const { sql, collate } = typeOf(type);
  return collate === undefined ? sql : `${sql} collate ${collate}`;
}

const listed = (columns: readonly string[]): string => columns.map(quoted).join(', ');

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** An index as SQL, from its columns on. */
export const indexAsSql = (index: Index): string =>
  typeof index === 'string' ? `(${index})` : `(${index.columns}) include (${index.covered})`;
