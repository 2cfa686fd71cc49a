import { catalogue, type Fact, type FactTypeIn, type FactTypeOf, factTypes } from '../events/catalogue.ts';
import type { Kind, StreamName } from '../events/streams.ts';
import type { RowOf, Table } from './columns.ts';

/**
 * A row of another table that is derived from one row alone: a pair to join by, a payment, a period. The row's key
 * names its source.
 *
 * `values` holds every column, keys too.
 */
export type Derived<T extends Table = Table> = T extends Table
  ? Readonly<{ table: T['name']; values: RowOf<T> }>
  : never;

/**
 * A table of counters, and what a row of the main table adds to it: to which of its keys, and how much to each other
 * column.
 *
 * `int8` columns hold numbers, `numeric` ones integers of any size as decimal text. Counters that are all zero are no
 * rows.
 *
 * @example
 * const table = { name: 'counters', columns: { name: 'text', n: 'int8' }, key: ['name'] };
 * const counters = { table, counts: () => [{ name: 'all', n: 1 }] };
 */
export type Counters<Row> = Readonly<{ table: Table; counts: (row: Row) => readonly Count[] }>;
/** A row of such a table; no column is null. */
export type Count = Readonly<Record<string, string | number | boolean>>;

/** The names under which projections are run, rebuilt and read. */
export const projectionNames = [
  'actions',
  'supernodes',
  'validators',
  'availability',
  'rounds',
  'transfers',
  'blocks',
  'stored_files',
  'peer_bans',
  'uptime_days',
  'incidents',
  'uptime_open',
] as const;
export type ProjectionName = (typeof projectionNames)[number];

/** The key of a row: the value of the main table's one key column, or the values of all of them in their order. */
export type Key = string | readonly (string | number)[];

/** One row that a fact touches, and what it makes of it; null removes it. A fact touches each row once at most. */
export type Touch<Row> = Readonly<{ key: Key; next: (row: Row | undefined) => Row | null }>;

/** A projection's result for a fact: the rows that it touches, none, one or many, or `ignored`. */
export type Handler<Row, T extends FactTypeIn<StreamName>> =
  ((data: Fact<T>['data']) => readonly Touch<Row>[]) | 'ignored';

/**
 * A read model: keyed rows, folded from one stream, and the rows derived from them.
 *
 * Pure. The engine folds a batch in memory, then writes the rows that changed, the derived rows and the counters
 * set-wise, together with its checkpoint, in one transaction. A row that was last touched at or after a fact's position
 * is left alone, so redelivery and replay change nothing; a removed row stays as a tombstone with its position
 * (`removed`, `position`: two columns that the engine adds to the main table). `on` has a handler for every fact of the
 * stream; a type that the catalogue does not know stops the projection. Facts of several streams meet when they are
 * read, never here: that keeps the tables independent of how the streams interleave. `version` is raised whenever
 * anything below changes.
 */
export type Projection<
  Main extends Table = Table,
  Other extends Table = Table,
  Stream extends StreamName = StreamName,
> = Readonly<{
  name: ProjectionName;
  version: number;
  stream: Stream;
  /** The main table. */
  table: Main;
  /** Tables of the derived rows. */
  derivedTables: readonly Other[];
  on: { readonly [T in FactTypeIn<Stream>]: Handler<RowOf<Main>, T> };
  /** Rows of other tables; the engine deletes those of the old row that the new row does not have. */
  derived?: (row: RowOf<Main>) => readonly Derived<Other>[];
  /** Counters of rows; the engine adds what the new row counts less what the old one did. */
  counters?: readonly Counters<RowOf<Main>>[];
}>;

/** Defines a projection: a fact of its stream without an answer, or a column without a value, does not compile. */
export function defineProjection<Main extends Table, Other extends Table, const Stream extends StreamName>(
  projection: Projection<Main, Other, Stream>,
): Projection<Main, Other, Stream> {
  return projection;
}

/**
 * The answer of a projection that has nothing to do with a kind, for all facts of it, those still to come included.
 *
 * @example { SuperNodeListed: (data) => [...], ...ignoring('validator') }
 */
export function ignoring<const K extends Kind>(kind: K): { readonly [T in FactTypeOf<K>]: 'ignored' } {
  const types = factTypes.filter((type): type is FactTypeOf<K> => catalogue[type].kind === kind);
  return Object.fromEntries(types.map((type) => [type, 'ignored'])) as { readonly [T in FactTypeOf<K>]: 'ignored' };
}
