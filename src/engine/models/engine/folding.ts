import { type Fact, type FactType, isFactType, streamOf } from '../../../events/catalogue.ts';
import type { AnyProjection } from '../../../projections/all.ts';
import type { Cell, Table } from '../../../projections/columns.ts';
import { marksOf, pastOf } from '../../../projections/past-tables.ts';
import type { Counters, Derived, Handler, Key, Touch } from '../../../projections/projection.ts';
import { summedColumns } from './counter-sums.ts';

/** A row of a main table; a column that is not named is null. */
export type Row = Readonly<Record<string, Cell>>;

/** One row that a fact touches: its key as one text (`keyText`), and what the fact makes of it. */
export type FoldingTouch = Readonly<{ key: string; next: (row: Row | undefined) => Row | null }>;

/** A projection as the engine runs it: the same rules, over rows and facts of any type. */
export type Folding = Readonly<{
  name: AnyProjection['name'];
  version: number;
  stream: AnyProjection['stream'];
  table: Table;
  derivedTables: readonly Table[];
  counters: readonly Counters<Row>[];
  /** The rows that a fact touches, each once. */
  touches: (fact: Fact) => readonly FoldingTouch[];
  derived: (row: Row) => readonly Derived[];
}>;

type Untyped = Readonly<{
  on: Readonly<Record<string, Handler<Row, FactType> | undefined>>;
  derived?: (row: Row) => readonly Derived[];
  counters?: readonly Counters<Row>[];
}>;

/** Prepares a projection for the engine; fails when it cannot be run, which is a mistake in its definition. */
export function foldingOf(projection: AnyProjection): Folding {
  const { name, version, stream, table, derivedTables } = projection;
  check(projection);
  const { on, derived, counters = [] } = projection as unknown as Untyped;
  return {
    name,
    version,
    stream,
    table,
    derivedTables,
    counters,
    touches: ({ type, data }) => {
      const handler = on[type];
      if (!handler) throw new Error(`Projection ${name} has no answer to ${type}`);
      return handler === 'ignored' ? [] : eachOnce(type, handler(data));
    },
    derived: derived ?? (() => []),
  };
}

const none: readonly FoldingTouch[] = [];

function eachOnce(type: string, touches: readonly Touch<Row>[]): readonly FoldingTouch[] {
  const [first] = touches;
  if (!first) return none;
  // The usual case, without anything that it does not need.
  if (touches.length === 1) return isText(touches) ? touches : [{ key: keyText(first.key), next: first.next }];
  const match = new Map(touches.map(({ key, next }) => [keyText(key), next]));
  if (match.size < touches.length) throw new Error(`A ${type} touches a row more than once`);
  return [...match].map(([key, next]) => ({ key, next }));
}

const isText = (touches: readonly Touch<Row>[]): touches is readonly FoldingTouch[] =>
  touches.every(({ key }) => typeof key === 'string' && cleanText(key) === key);

/** Clean text holds no NUL. */
const betweenParts = '\0';

/** A key as one text. */
export function keyText(key: Key): string {
  return typeof key === 'string' ? cleanText(key) : key.map((part) => cleanText(String(part))).join(betweenParts);
}

/** The values of the key columns, in their order, of a key as one text. */
export const keyParts = (key: string): string[] => key.split(betweenParts);

/** The inverse. */
export const keyOfParts = (parts: readonly unknown[]): string => parts.join(betweenParts);

function check({ name, stream, table, derivedTables, counters = [], on }: AnyProjection): void {
  for (const type of Object.keys(on)) {
    if (!isFactType(type) || streamOf(type) !== stream)
      throw new Error(`Projection ${name} takes ${type}, which is not in ${stream}`);
  }
  if (table.key.length === 0) throw new Error(`The main table of projection ${name} has no key`);
  for (const { name: tableName, key, columns } of [table, ...derivedTables, ...counters.map((one) => one.table)]) {
    const missing = key.find((column) => !Object.hasOwn(columns, column));
    if (missing !== undefined)
      throw new Error(`Table ${tableName} of projection ${name} has no column ${missing} for its key`);
  }
  for (const { table: counted } of counters) {
    const summed = summedColumns(counted);
    const wrong = summed.find((column) => !['int8', 'numeric'].includes(counted.columns[column] ?? ''));
    if (summed.length === 0 || wrong !== undefined)
      throw new Error(
        `Table ${counted.name} of projection ${name} counts in ${wrong ?? 'no column'}, which no sum can be of`,
      );
  }
}

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
  const tables = [withOwnColumns(table), ...derivedTables, ...counters.map((one) => one.table)];
  return [...tables, ...[pastOf(table), marksOf(table)].filter((one) => one !== undefined)];
}

/**
 * A main table's row as it is stored: a removed one keeps its key and nothing else, so that it is the same however it
 * came about.
 */
export function mainRow(table: Table, key: string, { row, position }: StoredRow): Row {
  return { ...row, ...keyCells(table, key), position, removed: row === null };
}

/** The key columns of a row. */
export function keyCells({ key: keyColumns }: Table, key: string): Row {
  const [first = '', ...others] = keyColumns;
  if (others.length === 0) return { [first]: key };
  const parts = keyParts(key);
  return Object.fromEntries(keyColumns.map((name, at) => [name, parts[at] ?? '']));
}

/** A row as it is stored: its content (null: removed) and the sequence of the fact that last touched it. */
export type StoredRow = Readonly<{ row: Row | null; position: number }>;

/** PostgreSQL takes no NUL in text, and no half of a character: both become the replacement character. */
function cleanText(text: string): string {
  return text.includes('\0') || !text.isWellFormed() ? text.replaceAll('\0', '\uFFFD').toWellFormed() : text;
}

/** The row as it will be when it is read again; what is the same in the row before has been cleaned already. */
export function cleanRow(row: Row, before: Row | null | undefined): Row {
  for (const name in row) if (row[name] !== before?.[name] && !isClean(row[name])) return cleaned(row);
  return row;
}

function isClean(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (!isClean(item)) return false;
    return true;
  }
  const members: Readonly<Record<string, unknown>> = { ...value };
  for (const name in members) if (!isClean(name) || !isClean(members[name])) return false;
  return true;
}

function cleaned(row: Row): Row {
  return Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, cleanCell(cell)]));
}

function cleanCell<T>(cell: T): T;
function cleanCell(cell: unknown): unknown {
  if (typeof cell === 'string') return cleanText(cell);
  if (typeof cell !== 'object' || cell === null) return cell;
  if (Array.isArray(cell)) return cell.map(cleanCell);
  return Object.fromEntries(Object.entries(cell).map(([name, member]) => [cleanText(name), cleanCell(member)]));
}
