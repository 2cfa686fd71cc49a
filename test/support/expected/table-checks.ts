import { deepStrictEqual } from 'node:assert/strict';
import pg from 'pg';
import type { Recorded } from '../../../src/commands/ports.ts';
import type { Instance } from '../../../src/engine/servers/instance.ts';
import type { StreamName } from '../../../src/events/streams.ts';
import { type ProjectionName, projectionNames } from '../../../src/projections/projection.ts';
import { expectedTables } from './expected-tables.ts';
import type { Cells } from './lives.ts';

/** The tables of one projection's live generation, as they were at one moment. */
export type TablesRead = Readonly<{
  projection: ProjectionName;
  stream: StreamName;
  /** Sequence of the last fact applied. */
  position: number;
  tables: Readonly<Record<string, readonly Cells[]>>;
}>;

/**
 * Reads all rows of all read models past the program, in one snapshot of the database; without what PostgreSQL works
 * out itself.
 */
export async function readTables({ postgres, network }: Pick<Instance, 'postgres' | 'network'>): Promise<TablesRead[]> {
  const client = new pg.Client(postgres);
  await client.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    const { rows } = await client.query<Live>(
      `select projection, stream, schema_name as schema, position::float8 as position
        from annals_${network}.generations where status = 'live'`,
    );
    deepStrictEqual(rows.map((row) => row.projection).toSorted(), projectionNames.toSorted(), 'live projections');
    const read: TablesRead[] = [];
    for (const { projection, stream, schema, position } of rows) {
      const names = Object.keys(expectedTables[projection]([]));
      const tables: Record<string, Cells[]> = {};
      for (const name of names) {
        const found = await client.query<{ row: Cells }>(
          `select to_jsonb(t) - array(
              select attname::text from pg_attribute where attrelid = '${schema}.${name}'::regclass and attgenerated <> ''
            ) as row from ${schema}.${name} t`,
        );
        tables[name] = found.rows.map(({ row }) => row);
      }
      read.push({ projection, stream, position, tables });
    }
    return read;
  } finally {
    await client.end();
  }
}

type Live = Readonly<{ projection: ProjectionName; stream: StreamName; schema: string; position: number }>;

/** Holds the rows of every read model against a fold of the log up to where the read model has followed it. */
export function checkTables(
  read: readonly TablesRead[],
  facts: Readonly<Record<StreamName, readonly Recorded[]>>,
): void {
  for (const { projection, stream, position, tables } of read) {
    const expected = expectedTables[projection](facts[stream].filter(({ sequence }) => sequence <= position));
    for (const [name, rows] of Object.entries(tables))
      checkRows(byText(rows), byText(expected[name] ?? []), `${name} at ${position} of ${stream}`);
  }
}

/** Names the first few rows that are only on one side. */
function checkRows(rows: readonly string[], expected: readonly string[], what: string): void {
  const without = (some: readonly string[], others: readonly string[]): string[] => {
    const known = new Set(others);
    return some.filter((row) => !known.has(row)).slice(0, 4);
  };
  const [wrong, missing] = [without(rows, expected), without(expected, rows)];
  deepStrictEqual({ count: rows.length, wrong, missing }, { count: expected.length, wrong: [], missing: [] }, what);
}

/** Rows in an order of their own, without what is null, and the cells of removed rows. */
function byText(rows: readonly Cells[]): string[] {
  return rows
    .map((row) => {
      const cells = Object.entries(row).filter(([name, cell]) => cell !== null && (!row['removed'] || own.has(name)));
      return JSON.stringify(sorted(Object.fromEntries(cells)));
    })
    .toSorted();
}

const own: ReadonlySet<string> = new Set(['id', 'source', 'position', 'removed']);

/** The same with the fields of every object in the order of their names. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(
    fields.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, field]) => [name, sorted(field)]),
  );
}
