import { hash } from 'node:crypto';
import type pg from 'pg';
import type { Cell, ColumnType, Table } from '../../../projections/columns.ts';
import type { Row } from './folding.ts';
import { typeOf } from '../column-types.ts';

/** For the rows of a table whose hash starts with one byte: their number, and the sum of a part of their hashes. */
type Bucket = Readonly<{ rows: number; sum: number }>;

/** A checksum of a table, whatever the order of its rows: a bucket for each first byte of a hash. */
export type Checksum = readonly Bucket[];

const buckets = 256;
/** Six bytes of each hash are added up, modulo as many: such sums are exact as doubles. */
const modulus = 2 ** 48;

/** Adds up rows of one table, one by one. */
type Summing = Readonly<{
  add: (row: Row) => void;
  checksum: () => Checksum;
  bucketOf: (row: Row) => number;
}>;

/** Prepares the checksum of a table's rows. */
export function createSumming(table: Table): Summing {
  const columns = columnsOf(table);
  const match = Array.from({ length: buckets }, () => ({ rows: 0, sum: 0 }));
  // One character for each byte of the hash.
  const hashOf = (row: Row): string => hash('sha256', canonicalRow(columns, row), 'binary');
  return {
    add: (row) => {
      const hashed = hashOf(row);
      const bucket = match[hashed.charCodeAt(0)];
      if (!bucket) return;
      bucket.rows += 1;
      bucket.sum = (bucket.sum + partOf(hashed)) % modulus;
    },
    checksum: () => match,
    bucketOf: (row) => hashOf(row).charCodeAt(0),
  };
}

/** The six bytes after the first, as a number. */
function partOf(hashed: string): number {
  let part = 0;
  for (let at = 1; at <= 6; at++) part = part * 256 + hashed.charCodeAt(at);
  return part;
}

/** The checksum of a table as it is stored, added up by PostgreSQL; `offset 0` keeps it from hashing each row twice. */
export async function storedChecksum(client: pg.ClientBase, schema: string, table: Table): Promise<Checksum> {
  const { rows } = await client.query<{ bucket: number; rows: number; sum: string }>(
    `select get_byte(hash, 0) as bucket, count(*) as rows,
        sum(('x' || encode(substr(hash, 2, 6), 'hex'))::bit(48)::int8) % ${modulus} as sum
      from (select ${hashSql(table)} as hash from ${schema}."${table.name}" offset 0) as hashed group by 1`,
  );
  const result = new Map(rows.map((row) => [row.bucket, { rows: row.rows, sum: Number(row.sum) }]));
  return Array.from({ length: buckets }, (_, bucket) => result.get(bucket) ?? { rows: 0, sum: 0 });
}

/** Rows of a stored table whose hash lies in one of these buckets: their canonical text by their key. */
export async function storedRows(
  client: pg.ClientBase,
  schema: string,
  { table, within }: { table: Table; within: readonly number[] },
): Promise<Map<string, string>> {
  const key = canonicalSql(keyOf(table));
  const { rows } = await client.query<{ key: string; text: string }>(
    `select ${key} as key, ${canonicalSql(columnsOf(table))} as text from ${schema}."${table.name}"
      where get_byte(${hashSql(table)}, 0) = any ($1)`,
    [within],
  );
  return new Map(rows.map(({ key: name, text }) => [name, text]));
}

/** Buckets in which two checksums differ. */
export function differing(a: Checksum, b: Checksum): number[] {
  return a.flatMap((bucket, at) => (bucket.rows === b[at]?.rows && bucket.sum === b[at].sum ? [] : [at]));
}

/** How a row is named and written in a comparison. */
export function namedRow(table: Table, row: Row): [key: string, text: string] {
  return [canonicalRow(keyOf(table), row), canonicalRow(columnsOf(table), row)];
}

/** In the order of their names, which no reordering of a definition changes. */
function columnsOf({ columns }: Table): (readonly [string, ColumnType])[] {
  return Object.entries(columns).toSorted(([a], [b]) => (a < b ? -1 : 1));
}

const keyOf = ({ key, columns }: Table): [string, ColumnType][] => key.map((name) => [name, columns[name] ?? 'text']);

const hashSql = (table: Table): string => `sha256(convert_to(${canonicalSql(columnsOf(table))}, 'UTF8'))`;

/**
 * Separates the cells of a row; text that holds it could only make two different rows equal, never equal ones
 * different.
 */
const between = '\u001f';

/**
 * A row as one text, the same that PostgreSQL makes of it when it is stored (`canonicalSql`).
 *
 * @example canonicalRow([['id', 'text'], ['n', 'int8']], { id: 'a', n: null }) // '=a\u001f-'
 */
export function canonicalRow(
  columns: readonly (readonly [name: string, type: ColumnType])[],
  row: Readonly<Record<string, Cell | undefined>>,
): string {
  let text = '';
  for (const [name, type] of columns) {
    if (text !== '') text += between;
    const cell = row[name];
    text += cell === undefined || cell === null ? '-' : `=${typeOf(type).canonical(cell)}`;
  }
  return text;
}

/** The SQL expression that makes the same text of a stored row. */
export function canonicalSql(columns: readonly (readonly [name: string, type: ColumnType])[]): string {
  const cells = columns.map(([name, type]) => `coalesce('=' || ${typeOf(type).canonicalSql(`"${name}"`)}, '-')`);
  return `concat_ws(E'\\x1f', ${cells.join(', ')})`;
}
