import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { type Fact, type FactType, type FactTypeIn, streamOf } from '../../../src/events/catalogue.ts';
import type { StreamName } from '../../../src/events/streams.ts';
import { indexAsSql } from '../../../src/engine/models/engine/generation-tables.ts';
import { createIndependentFold } from '../../../src/engine/models/build/independent-fold.ts';
import { foldingOf, type Row, storedTables } from '../../../src/engine/models/engine/folding.ts';
import { type AnyProjection, projections } from '../../../src/projections/all.ts';
import type { Count, Derived, Handler, Projection } from '../../../src/projections/projection.ts';
import type { RowOf, Table } from '../../../src/projections/columns.ts';
import type { Reading } from '../../../src/projections/reading.ts';
import type { Tables } from '../../../src/projections/tables.ts';
import { freshDatabase } from '../programs/servers.ts';

type Cells = Readonly<Record<string, unknown>>;

/**
 * What a projection makes of facts, folded in memory: live rows, keys of removed ones, derived rows and rows of
 * counters by table.
 */
type Folded = Readonly<{
  rows: readonly Row[];
  removed: readonly string[];
  derived: readonly Derived[];
  counters: ReadonlyMap<string, readonly Count[]>;
}>;

/** Folds the facts that a projection has handlers for, in their order. */
export function foldAll(projection: AnyProjection, facts: readonly Fact[]): Folded {
  const { touches, derived, counters } = foldingOf(projection);
  const rows = new Map<string, Row>();
  const removed = new Set<string>();
  for (const { key, next } of facts.filter(isOf(projection)).flatMap(touches)) {
    const row = next(rows.get(key));
    if (row) rows.set(key, row);
    else rows.delete(key);
    if (row) removed.delete(key);
    else removed.add(key);
  }
  const live = [...rows.values()];
  const sums = counters.map(({ table, counts }) => [table.name, sumsOf(table, live.flatMap(counts))] as const);
  return { rows: live, removed: [...removed], derived: live.flatMap(derived), counters: new Map(sums) };
}

/** The rows of a table of counters: counts with the same key added up, whole numbers of any size, without zeros. */
export function sumsOf({ key, columns }: Table, counts: readonly Count[]): Count[] {
  const keyText = (values: Count) => JSON.stringify(key.map((column) => String(values[column])));
  return [...Map.groupBy(counts, keyText).values()].flatMap((same) => {
    const sumOf = (column: string) => same.reduce((sum, values) => sum + BigInt(values[column] ?? 0), 0n);
    const cells = Object.entries(columns).map(([column, type]) => {
      const cell = key.includes(column) ? (same[0]?.[column] ?? '') : sumOf(column);
      const isText = type === 'numeric';
      return [column, isText ? String(cell) : typeof cell === 'bigint' ? Number(cell) : cell] as const;
    });
    const isZero = Object.keys(columns).every((column) => key.includes(column) || sumOf(column) === 0n);
    return isZero ? [] : [Object.fromEntries(cells)];
  });
}

const isOf =
  ({ stream }: AnyProjection) =>
  ({ type }: Fact): boolean =>
    streamOf(type) === stream;

/** The rows that a fact touches, by keys of one column; none where the projection ignores it. */
export function touchesOf<Main extends Table, Other extends Table, Stream extends StreamName>(
  { on, stream }: Projection<Main, Other, Stream>,
  { type, data }: Fact,
): Readonly<{ key: string; next: (row: RowOf<Main> | undefined) => RowOf<Main> | null }>[] {
  if (streamOf(type) !== stream) return [];
  const handler = (on as Readonly<Record<string, unknown>>)[type] as Handler<RowOf<Main>, FactType>;
  if (handler === 'ignored') return [];
  return handler(data as never).map(({ key, next }) => ({ key: String(key), next }));
}

type Handlers<Main extends Table, Stream extends StreamName> = {
  readonly [T in FactTypeIn<Stream>]: (row: RowOf<Main> | undefined, data: Fact<T>['data']) => RowOf<Main> | null;
};

/** What each fact of a projection makes of the one row that it touches. */
export function handlersOf<Main extends Table, Other extends Table, Stream extends StreamName>(
  projection: Projection<Main, Other, Stream>,
): Handlers<Main, Stream> {
  const handlers = Object.keys(projection.on).map((type) => [
    type,
    (row: RowOf<Main> | undefined, data: unknown) => {
      const [touch, another] = touchesOf(projection, { type, data } as Fact);
      if (!touch || another) throw new Error(`A ${type} touches none or several rows`);
      return touch.next(row);
    },
  ]);
  return Object.fromEntries(handlers) as Handlers<Main, Stream>;
}

/** The live rows that a projection makes of facts, with their own type. */
export function rowsOf<Main extends Table, Other extends Table, Stream extends StreamName>(
  projection: Projection<Main, Other, Stream>,
  facts: readonly Fact[],
): RowOf<Main>[] {
  return foldAll(projection, facts).rows as readonly object[] as RowOf<Main>[];
}

/** Makes every projection's tables in a database of their own, fills them from facts and opens them for reading. */
export async function loadReading(facts: readonly Fact[]): Promise<{ reading: Reading; close: () => Promise<void> }> {
  const pool = new pg.Pool({ ...(await freshDatabase()), max: 2, types: { getTypeParser: parserOf } });
  for (const projection of projections) await load(pool, projection, facts);
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const none = (stream: AnyProjection['stream']) => ({
    stream,
    incarnation: '2026-01-01T00:00:00Z',
    sequence: facts.length,
  });
  const reading: Reading = {
    db,
    run: async ({ sql, parameters }) => (await pool.query<object>(sql, [...parameters])).rows,
    reader: db,
    schemas: {
      actions: 's_actions',
      supernodes: 's_supernodes',
      validators: 's_validators',
      availability: 's_availability',
      rounds: 's_rounds',
      transfers: 's_transfers',
      blocks: 's_blocks',
      stored_files: 's_stored_files',
      peer_bans: 's_peer_bans',
      uptime_days: 's_uptime_days',
      incidents: 's_incidents',
      uptime_open: 's_uptime_open',
    },
    followed: {
      actions: none('ACTIONS'),
      supernodes: none('NODES'),
      validators: none('NODES'),
      availability: none('PROBES'),
      rounds: none('SYNC'),
      transfers: none('TRANSFERS'),
      blocks: none('LEDGER'),
      stored_files: none('STORAGE'),
      peer_bans: none('PEERS'),
      uptime_days: none('UPTIME'),
      incidents: none('UPTIME'),
      uptime_open: none('PROBES'),
    },
  };
  return { reading, close: async () => await db.destroy() };
}

/** The sequence of each fact is its place among all of them, from 1 on, in whichever stream it is. */
async function load(pool: pg.Pool, projection: AnyProjection, facts: readonly Fact[]): Promise<void> {
  const schema = `s_${projection.name}`;
  const folding = foldingOf(projection);
  const tables = new Map(storedTables(folding).map((table) => [table.name, { table, rows: [] as Row[] }]));
  const fold = createIndependentFold(folding, { see: (name, row) => tables.get(name)?.rows.push(row) });
  fold.take(
    facts
      .map((fact, at) => ({ fact, id: '', sequence: at + 1, time: '' }))
      .filter(({ fact }) => isOf(projection)(fact)),
  );
  Array.from(fold.show());
  await pool.query(`create schema ${schema}`);
  for (const { table, rows } of tables.values()) {
    await create(pool, schema, table);
    await insert(pool, schema, table, rows);
  }
}

async function create(pool: pg.Pool, schema: string, table: Table): Promise<void> {
  const { name, columns, generated = {}, key, covered, indexes = [] } = table;
  const defined = [
    ...Object.entries(columns).map(([column, type]) => `${column} ${type}${type === 'text' ? ' collate "C"' : ''}`),
    ...Object.entries(generated).map(
      ([column, { type, as }]) => `${column} ${type} generated always as (${as}) stored`,
    ),
  ];
  const more = covered ? ` include (${covered.join(', ')})` : '';
  await pool.query(`create table ${schema}.${name} (${defined.join(', ')}, primary key (${key.join(', ')})${more})`);
  for (const index of indexes) await pool.query(`create index on ${schema}.${name} ${indexAsSql(index)}`);
}

async function insert(pool: pg.Pool, schema: string, { name, columns }: Table, rows: readonly Cells[]): Promise<void> {
  const defined = Object.entries(columns).map(([column, type]) => `${column} ${type}`);
  const isBytes = (column: string): boolean => columns[column] === 'bytea';
  const written = rows.map((row) =>
    Object.entries(row).map(([column, cell]) => [
      column,
      isBytes(column) && typeof cell === 'string' ? cell.replace(/^0x/, String.raw`\x`) : cell,
    ]),
  );
  await pool.query(`insert into ${schema}.${name} select * from json_to_recordset($1) as r(${defined.join(', ')})`, [
    JSON.stringify(written.map((cells) => Object.fromEntries(cells) as Cells)),
  ]);
}

const numberTypes: readonly number[] = [pg.types.builtins.INT8, pg.types.builtins.FLOAT8];
const byteType: number = pg.types.builtins.BYTEA;

/** Whole and broken numbers are read as numbers, bytes as digits behind 0x, everything else as pg reads it. */
function parserOf(oid: number): (text: string) => unknown {
  if (oid === byteType) return (text) => `0x${text.slice(2)}`;
  return numberTypes.includes(oid) ? Number : pg.types.getTypeParser(oid, 'text');
}
