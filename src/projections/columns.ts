import { type RawBuilder, sql } from 'kysely';

/**
 * The contents of a cell that is not null, by the type of its column. Cells are plain data, which JSON and structured
 * clones preserve.
 *
 * - `text` sorts bytewise; `int8` is exact as far as doubles are.
 * - `numeric` and `uint256` are decimal text; the first has any size, the second is an integer from 0 to 2^256 - 1.
 * - `bytea` is `0x` and hexadecimal digits in lower case, two for each byte.
 */
export type CellTypes = Readonly<{
  text: string;
  int4: number;
  int8: number;
  numeric: string;
  uint256: string;
  float8: number;
  bool: boolean;
  bytea: `0x${string}`;
  jsonb: readonly unknown[] | Readonly<Record<string, unknown>>;
}>;

/**
 * The types that columns of read models have; how each is stored, written and compared is the engine's `columnTypes`.
 */
export type ColumnType = keyof CellTypes;
/** Column types that PostgreSQL works out; `"char"` is one byte. */
type GeneratedType = 'int8' | 'int2' | '"char"';

declare const cell: unique symbol;

/** A column type that narrows the type of its cells. */
type Column<T> = ColumnType & Readonly<{ [cell]: T }>;

/** The contents of a column's cells. */
type CellOf<C extends ColumnType> = C extends Column<infer T> ? T : CellTypes[C];

/** A column whose cells may be null. */
export function nullable<const C extends ColumnType>(type: C): Column<CellOf<C> | null> {
  return type as unknown as Column<CellOf<C> | null>;
}

/** A column of JSON of a shape of its own. */
export function json<T extends CellTypes['jsonb']>(): Column<T> {
  return 'jsonb' as unknown as Column<T>;
}

type Columns = Readonly<Record<string, ColumnType>>;

/**
 * A table of a read model: its columns, which of them are the key, and its other indexes. Row types follow from it
 * (`RowOf`).
 *
 * `covered` columns are in the index of the key as well, so that it answers alone. `generated` columns are worked out
 * of the others by PostgreSQL, by an expression, and stored; only indexes and queries know them. A main table with a
 * `past` keeps its superseded rows in a table beside it.
 */
export type Table<C extends Columns = Columns, Name extends string = string> = Readonly<{
  name: Name;
  columns: C;
  generated?: Readonly<Record<string, Readonly<{ type: GeneratedType; as: string }>>>;
  key: readonly (keyof C & string)[];
  covered?: readonly (keyof C & string)[];
  indexes?: readonly Index[];
  past?: Past;
}>;

/**
 * How the superseded rows of a main table are stored: `covered` columns are in the index by which the rows of a
 * position are read; `marks` keep the ends of the new keys by position, for lists and totals that are read by the key.
 */
export type Past = Readonly<{ covered?: readonly string[]; marks?: boolean }>;

/** Columns as a list of SQL, and those that the index holds without being ordered by them. */
export type Index = string | Readonly<{ columns: string; covered: string }>;

/** Defines a table, with the types of its cells. */
export function defineTable<const C extends Columns, const Name extends string>(table: Table<C, Name>): Table<C, Name> {
  return table;
}

/** A row of a table: every column, and nothing else. */
export type RowOf<T extends Table> = { readonly [Name in keyof T['columns']]: CellOf<T['columns'][Name]> };

/** A value of a cell. */
export type Cell = CellTypes[ColumnType] | null;

/**
 * All columns of a table for a select list, under their names; `instead` selects something else for some of them.
 *
 * @example
 * sql`select ${columnsOf(availabilityTable, 'a', { ports: sql`coalesce(a.ports, '[]')` })} from availability a`
 */
export function columnsOf<C extends Columns>(
  { columns }: Table<C>,
  alias: string,
  instead: { readonly [Name in keyof C]?: RawBuilder<unknown> | 'left out' } = {},
): RawBuilder<unknown> {
  const list = Object.keys(columns).flatMap((name) => {
    const other = instead[name];
    if (other === 'left out') return [];
    return other === undefined ? sql.id(alias, name) : sql`${other} as ${sql.id(name)}`;
  });
  return sql.join(list);
}
