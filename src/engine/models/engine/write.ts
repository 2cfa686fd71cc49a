import { createHash } from 'node:crypto';
import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
  sql,
} from 'kysely';
import type { ColumnType, Table } from '../../../projections/columns.ts';
import { marksOf, pastOf } from '../../../projections/past-tables.ts';
import { typeOf } from '../column-types.ts';
import { copyInto, copyText } from './copy.ts';
import { summedColumns } from './counter-sums.ts';
import type { Consequences, ChangedRows } from './fold.ts';
import { type Folding, type StoredRow, keyOfParts, keyParts, mainRow, type Row, withOwnColumns } from './folding.ts';
import type { PastRows } from './past.ts';
import type { Statement } from '../../../kit/shims/pg/batch.ts';

/** The statements that read and write one generation's tables, each parsed once per connection. */
export type Writer = Readonly<{
  /** Rows of the main table by key, each with the key as it was requested. */
  select: (keys: readonly string[]) => Statement;
  /** What `select` answered, as rows by key. */
  kept: (rows: readonly Record<string, unknown>[]) => Map<string, StoredRow>;
  /** Statements that bring the main table to where a fold ended; `before` holds all rows that are there already. */
  rows: (rows: ChangedRows, before: ReadonlyMap<string, StoredRow>) => Statement[];
  /** Statements that insert superseded rows, and raise the marks. */
  past: (past: PastRows) => Statement[];
  /** Statements that bring the other tables there; each is made on demand, and copies so many rows at most. */
  consequences: (consequences: Consequences) => Iterable<Statement>;
}>;

/** Compiles the statements of a generation's tables. */
export function createWriter(folding: Folding, schema: string): Writer {
  const main = withOwnColumns(folding.table);
  const select = prepare(selectByKey(schema, folding.table));
  const request = requestedColumns(folding.table);
  const insertMain = copying(schema, main);
  const upsertMain = bulk(schema, main, upsert);
  const derived = folding.derivedTables.map((table) => ({
    name: table.name,
    remove: bulk(schema, keysOf(table), remove),
    insert: copying(schema, table),
    upsert: bulk(schema, table, upsert),
  }));
  const counters = folding.counters.map(({ table }) => ({
    name: table.name,
    addUp: bulk(schema, table, addUp),
    lessens: (row: Row) => summedColumns(table).some((column) => Number(row[column]) < 0),
    removeZeros: bulk(schema, keysOf(table), (where, keys) => removeZeros(where, keys, summedColumns(table))),
  }));
  const pastTable = pastOf(folding.table);
  const marks = marksOf(folding.table);
  const insertPast = pastTable ? copying(schema, pastTable) : nothing;
  const raiseMarks = marks ? bulk(schema, marks, raise) : nothing;
  return {
    select: (keys) => ({ ...select, values: keyColumnsOf(folding.table, keys) }),
    kept: (rows) => new Map(rows.map((row) => storedRow(request, row))),
    rows: (rows, before) => {
      const stored = (isKnown: boolean): Row[] =>
        rows
          .filter(([key]) => before.has(key) === isKnown)
          .map(([key, retained]) => mainRow(folding.table, key, retained));
      // A search for conflicts where there can be none takes as long again as the insert.
      return [...insertMain(stored(false)), ...upsertMain(stored(true))];
    },
    past: (past) => [...insertPast(past.takeRows()), ...raiseMarks(past.marks())],
    *consequences({ gone, fresh, changed, counters: sums }) {
      for (const table of derived) yield* table.remove(gone.get(table.name) ?? []);
      for (const table of derived) for (const rows of inParts(fresh.get(table.name) ?? [])) yield* table.insert(rows);
      for (const table of derived) yield* table.upsert(changed.get(table.name) ?? []);
      for (const table of counters) yield* table.addUp(sums.get(table.name) ?? []);
      for (const table of counters) yield* table.removeZeros((sums.get(table.name) ?? []).filter(table.lessens));
    },
  };
}

const nothing = (): Statement[] => [];

/** Rows of one statement: the text of a thousand is made in a few milliseconds. */
const rowsInStatement = 1_000;

function* inParts(rows: readonly Row[]): Generator<readonly Row[]> {
  for (let at = 0; at < rows.length; at += rowsInStatement) yield rows.slice(at, at + rowsInStatement);
}

/** Keys as one array for each key column. */
function keyColumnsOf({ key }: Table, keys: readonly string[]): unknown[] {
  if (key.length === 1) return [keys];
  const parts = keys.map(keyParts);
  return key.map((_, at) => parts.map((one) => one[at] ?? ''));
}

type Sql = RawBuilder<unknown>;

/** A COPY of all rows, which takes half as long as an insertion; none for no rows. */
function copying(schema: string, table: Table): (rows: readonly Row[]) => Statement[] {
  const text = copyInto(schema, table);
  return (rows) => (rows.length === 0 ? [] : [{ text, rows: copyText(table, rows) }]);
}

/** A statement over all rows at once; none for no rows. */
function bulk(
  schema: string,
  table: Table,
  write: (where: Sql, table: Table) => Sql,
): (rows: readonly Row[]) => Statement[] {
  const statement = prepare(write(sql.id(schema, table.name), table));
  const columns = Object.entries(table.columns);
  return (rows) =>
    rows.length === 0 ? [] : [{ ...statement, values: columns.map(([name, type]) => arrayText(rows, name, type)) }];
}

/** Names of the columns that hold the requested keys; no column of a table has a blank in its name. */
const requestedColumns = ({ key }: Table): string[] => key.map((name) => `asked ${name}`);

function selectByKey(schema: string, table: Table): Sql {
  const query = requestedColumns(table);
  const columns = names([...Object.keys(table.columns), 'position', 'removed']);
  const match = sql.join(
    table.key.map(
      (name, at) => sql`${sql.id('kept', name)} = ${sql.id('asked', query[at] ?? '')}::${castOf(table, name)}`,
    ),
    sql` and `,
  );
  const keys: Table = { name: 'asked', columns: Object.fromEntries(query.map((name) => [name, 'text'])), key: query };
  const requestedFor = sql.join(query.map((name) => sql.id('asked', name)));
  return sql`select ${requestedFor}, found.* from ${options('asked', keys)}
    cross join lateral (${oneByOne(columns, sql.id(schema, table.name), match)}) as found`;
}

/**
 * Selects one row for each input row, by its key.
 *
 * `offset 0` keeps the planner from reversing the join: a plan made while the table was empty would scan all of it once
 * it is full.
 */
function oneByOne(columns: Sql, where: Sql, match: Sql): Sql {
  return sql`select ${columns} from ${where} as kept where ${match} offset 0`;
}

function upsert(where: Sql, table: Table): Sql {
  const { key, columns } = table;
  const rest = Object.keys(columns).filter((name) => !key.includes(name));
  const changed = sql.join(rest.map((name) => sql`${sql.id(name)} = ${sql.id('excluded', name)}`));
  const otherwise = rest.length === 0 ? sql`do nothing` : sql`do update set ${changed}`;
  return sql`${insertion(where, table)} on conflict (${names(key)}) ${otherwise}`;
}

function addUp(where: Sql, table: Table): Sql {
  const sums = summedColumns(table).map(
    (name) => sql`${sql.id(name)} = ${sql.id('had', name)} + ${sql.id('excluded', name)}`,
  );
  return sql`${insertion(sql`${where} as had`, table)} on conflict (${names(table.key)}) do update set ${sql.join(sums)}`;
}

/** Widens marks; they never become narrower. */
function raise(where: Sql, table: Table): Sql {
  return sql`${insertion(sql`${where} as had`, table)} on conflict (${names(table.key)})
    do update set least = least(had.least, excluded.least), greatest = greatest(had.greatest, excluded.greatest)`;
}

function insertion(where: Sql, table: Table): Sql {
  const columns = Object.keys(table.columns);
  const values = sql.join(columns.map((name) => sql`${sql.id('fresh', name)}::${castOf(table, name)}`));
  return sql`insert into ${where} (${names(columns)}) select ${values} from ${options('fresh', table)}`;
}

function remove(where: Sql, table: Table): Sql {
  const matches = table.key.map(
    (name) => sql`${sql.id('kept', name)} = ${sql.id('gone', name)}::${castOf(table, name)}`,
  );
  const result = oneByOne(sql`ctid`, where, sql.join(matches, sql` and `));
  const positions = sql`select found.ctid from ${options('gone', table)} cross join lateral (${result}) as found`;
  return sql`delete from ${where} as had where had.ctid = any (array(${positions}))`;
}

function removeZeros(where: Sql, table: Table, summed: readonly string[]): Sql {
  const zeros = summed.map((name) => sql`${sql.id('had', name)} = 0`);
  return sql`${remove(where, table)} and ${sql.join(zeros, sql` and `)}`;
}

/** The rows of a statement's parameters: one array per column; JSON travels as text. */
function options(alias: string, { columns }: Table): Sql {
  const arrays = Object.values(columns).map((type) => sql`${null}::${sql.raw(typeOf(type).array)}[]`);
  return sql`unnest(${sql.join(arrays)}) as ${sql.id(alias)} (${names(Object.keys(columns))})`;
}

const names = (columns: readonly string[]): Sql => sql.join(columns.map((name) => sql.id(name)));

const castOf = ({ columns }: Table, column: string): Sql => sql.raw(typeOf(columns[column] ?? 'text').sql);

const keysOf = (table: Table): Table => ({
  ...table,
  columns: Object.fromEntries(Object.entries(table.columns).filter(([name]) => table.key.includes(name))),
});

function storedRow([first = '', ...others]: readonly string[], answer: Record<string, unknown>): [string, StoredRow] {
  const { [first]: part, position, removed, ...row } = answer;
  const key = others.length === 0 ? String(part) : keyOfParts([part, ...others.map((name) => row[name])]);
  for (const name of others) delete row[name];
  return [key, { row: removed === true ? null : (row as Row), position: Number(position) }];
}

/** A column of rows as the text of an array, several times as fast as the driver makes it of any array. */
function arrayText(rows: readonly Row[], name: string, type: ColumnType): string {
  let text = '';
  for (const row of rows) {
    const cell = row[name];
    text += text === '' ? '{' : ',';
    if (cell === undefined || cell === null) text += 'NULL';
    else text += typeof cell === 'number' ? String(cell) : element(typeOf(type).text(cell));
  }
  return `${text}}`;
}

const special = /["\\]/;

const element = (text: string): string => `"${special.test(text) ? text.replaceAll(/["\\]/g, String.raw`\$&`) : text}"`;

const compiler = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** The name follows from the text, so that every connection and every writer means the same by it. */
function prepare(statement: Sql): Statement {
  const text = statement.compile(compiler).sql;
  return { name: createHash('sha256').update(text).digest('base64url').slice(0, 24), text };
}
