import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { Cell, ColumnType, Table } from '../../../projections/columns.ts';
import { typeOf } from '../column-types.ts';
import type { Row } from './folding.ts';

/** Text that is sent at once: so little that the server always has some to read while more is made. */
const chunkLength = 48 * 1024;

/**
 * Writes rows into a table in bulk; all of them, or none when it fails. `client` must not pipeline, and no other caller
 * may use it meanwhile.
 */
export async function copyRows(
  client: pg.ClientBase,
  schema: string,
  { table, rows }: { table: Table; rows: Iterable<Row> },
): Promise<void> {
  await pipeline(chunks(table, rows), client.query(copyFrom(copyInto(schema, table))));
}

/** The statement that copies rows into a table. */
export function copyInto(schema: string, { name, columns }: Table): string {
  const names = Object.keys(columns).map((column) => `"${column}"`);
  return `copy ${schema}."${name}" (${names.join(', ')}) from stdin`;
}

/** Rows as that statement takes them. */
export function copyText(table: Table, rows: readonly Row[]): string {
  const columns = Object.entries(table.columns);
  let text = '';
  for (const row of rows) text += line(columns, row);
  return text;
}

function* chunks(table: Table, rows: Iterable<Row>): Generator<Buffer> {
  const columns = Object.entries(table.columns);
  let text = '';
  for (const row of rows) {
    text += line(columns, row);
    if (text.length < chunkLength) continue;
    yield Buffer.from(text);
    text = '';
  }
  if (text !== '') yield Buffer.from(text);
}

function line(columns: readonly (readonly [string, ColumnType])[], row: Row): string {
  let text = '';
  for (const [name, type] of columns) text += `${field(row[name], type)}\t`;
  return `${text.slice(0, -1)}\n`;
}

const special = /[\\\n\r\t]/;
const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function field(cell: Cell | undefined, type: ColumnType): string {
  if (cell === undefined || cell === null) return '\\N';
  if (typeof cell === 'number') return String(cell);
  const text = typeOf(type).text(cell);
  return special.test(text) ? text.replaceAll(/[\\\n\r\t]/g, (char) => escapes[char] ?? char) : text;
}
