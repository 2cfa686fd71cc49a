import type { Fact, FactType } from '../events/catalogue.ts';
import type { StreamName } from '../events/streams.ts';

/** Column types that the engine writes; text sorts bytewise, `int8` and `float8` read as numbers, `numeric` as text. */
export type ColumnType = 'text' | 'int4' | 'int8' | 'numeric' | 'float8' | 'bool' | 'jsonb';
/** Column types that PostgreSQL works out; `"char"` is one byte. */
export type GeneratedType = 'int8' | '"char"';

/**
 * A table of a projection: its columns, which of them are the key, and its other indexes.
 *
 * `covered` columns are in the index of the key as well, so that it answers alone. `generated` columns are worked out of the
 * others by PostgreSQL, by an expression, and stored; only indexes and queries know them.
 */
export type Table = Readonly<{
  name: string;
  columns: Readonly<Record<string, ColumnType>>;
  generated?: Readonly<Record<string, Readonly<{ type: GeneratedType; as: string }>>>;
  key: readonly string[];
  covered?: readonly string[];
  indexes?: readonly Index[];
}>;

/** Columns as a list of SQL, and those that the index holds without being ordered by them. */
export type Index = string | Readonly<{ columns: string; covered: string }>;

/** A value of a cell. */
export type Cell = string | number | boolean | null | readonly unknown[] | Readonly<Record<string, unknown>>;

/** A row of another table that follows from one row alone, as its key says: a pair to join by, a payment, a period. `values` holds every column, keys too. */
export type Derived = Readonly<{ table: string; values: Readonly<Record<string, Cell>> }>;

/**
 * A table of counters, and what a row of the main table adds to it: to which of its keys, and how much to each other column.
 *
 * `int8` columns take numbers, `numeric` ones whole numbers of any size as decimal text. Counters that are all zero are no rows.
 *
 * @example { table: { name: 'counters', columns: { name: 'text', n: 'int8' }, key: ['name'] }, counts: () => [{ name: 'all', n: 1 }] }
 */
export type Counters<Row> = Readonly<{ table: Table; counts: (row: Row) => readonly Count[] }>;
/** A row of such a table; no column is null. */
export type Count = Readonly<Record<string, string | number | boolean>>;

/** The names under which projections are run, rebuilt and read. */
export const projectionNames = ['actions', 'supernodes', 'validators', 'availability', 'rounds'] as const;
export type ProjectionName = (typeof projectionNames)[number];

/**
 * A read model: one keyed row type, folded from one stream, and what follows from each row.
 *
 * Pure. The engine folds a whole batch in memory, then writes the rows that changed, the derived rows and the
 * counters set-wise, together with its checkpoint, in one transaction. A row that was last touched at or after a
 * fact's position is left alone, so redelivery and replay change nothing; a removed row stays as a tombstone with its
 * position (`removed`, `position`: two columns that the engine adds to the main table). Facts of the stream that `on` does
 * not name are passed over; a type that the catalogue does not know stops the projection. Facts of several streams meet
 * when they are read, never here: that keeps the tables independent of how the streams interleave. `version` is
 * raised whenever anything below changes.
 */
export type Projection<Row extends object, T extends FactType> = Readonly<{
  name: ProjectionName;
  version: number;
  stream: StreamName;
  /** The main table; a row's properties are its columns. */
  table: Table;
  /** Tables of the derived rows. */
  derivedTables: readonly Table[];
  /** Key of the row that a fact belongs to: the value of the main table's one key column. */
  key: (fact: Fact<T>) => string;
  /** What a fact makes of the row; null removes it. */
  on: { readonly [K in T]: (row: Row | undefined, data: Fact<K>['data']) => Row | null };
  /** Rows of other tables; the engine takes away what the old row had and the new one has not. */
  derived?: (row: Row) => readonly Derived[];
  /** Counters of rows; the engine adds what the new row counts less what the old one did. */
  counters?: readonly Counters<Row>[];
}>;
