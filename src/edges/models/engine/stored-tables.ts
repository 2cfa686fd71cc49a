import type { Table } from '../../../projections/columns.ts';
import { type Folding, keyParts, type Row } from './folding.ts';

/** A main table with the columns that the engine adds. */
export function withOwnColumns(table: Table): Table {
  return { ...table, columns: { ...table.columns, position: 'int8', removed: 'bool' } };
}

/** All tables of a projection as they are stored. */
export function storedTables({
  table,
  derivedTables,
  counters,
}: Pick<Folding, 'table' | 'derivedTables' | 'counters'>): readonly Table[] {
  return [withOwnColumns(table), ...derivedTables, ...counters.map((one) => one.table)];
}

/** A main table's row as it is stored: a removed one keeps its key and nothing else, so that it is the same however it came about. */
export function mainRow({ key: keyColumns }: Table, key: string, { row, position }: Kept): Row {
  const own = { position, removed: row === null };
  const [first = '', ...others] = keyColumns;
  if (others.length === 0) return { ...row, [first]: key, ...own };
  const parts = keyParts(key);
  return { ...row, ...Object.fromEntries(keyColumns.map((name, at) => [name, parts[at] ?? ''])), ...own };
}

/** A row as it is kept: its content (null: removed) and the sequence of the fact that last touched it. */
export type Kept = Readonly<{ row: Row | null; position: number }>;
