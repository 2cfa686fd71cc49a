import { type Fact, isFactType, streamOf } from '../../../events/catalogue.ts';
import type { AnyProjection } from '../../../projections/all.ts';
import type { Cell, Counters, Derived, Table } from '../../../projections/projection.ts';
import { summedColumns } from './counter-sums.ts';

/** A row of a main table; a column that is not named is null. */
export type Row = Readonly<Record<string, Cell>>;

/** A projection as the engine runs it: the same rules, over rows and facts of any type. */
export type Folding = Readonly<{
  name: AnyProjection['name'];
  version: number;
  stream: AnyProjection['stream'];
  table: Table;
  derivedTables: readonly Table[];
  counters: readonly Counters<Row>[];
  handles: (fact: Fact) => boolean;
  key: (fact: Fact) => string;
  next: (row: Row | undefined, fact: Fact) => Row | null;
  derived: (row: Row) => readonly Derived[];
}>;

type Untyped = Readonly<{
  key: (fact: Fact) => string;
  on: Readonly<Record<string, (row: Row | undefined, data: Fact['data']) => Row | null>>;
  derived?: (row: Row) => readonly Derived[];
  counters?: readonly Counters<Row>[];
}>;

/** Prepares a projection for the engine; fails when it cannot be run, which is a mistake in its definition. */
export function foldingOf(projection: AnyProjection): Folding {
  const { name, version, stream, table, derivedTables } = projection;
  check(projection);
  const { key, on, derived, counters = [] } = projection as unknown as Untyped;
  return {
    name,
    version,
    stream,
    table,
    derivedTables,
    counters,
    handles: ({ type }) => Object.hasOwn(on, type),
    key,
    next: (row, { type, data }) => {
      const handler = on[type];
      if (!handler) throw new Error(`Projection ${name} has no handler for ${type}`);
      return handler(row, data);
    },
    derived: derived ?? (() => []),
  };
}

function check({ name, stream, table, derivedTables, counters = [], on }: AnyProjection): void {
  for (const type of Object.keys(on)) {
    if (!isFactType(type) || streamOf(type) !== stream)
      throw new Error(`Projection ${name} takes ${type}, which is not in ${stream}`);
  }
  if (table.key.length !== 1)
    throw new Error(`Projection ${name} has ${table.key.length} key columns; its main table takes one`);
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
