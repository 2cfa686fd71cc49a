import type pg from 'pg';
import type { Recorded } from '../../../commands/ports.ts';
import { type BulkFold, createBulkFold, type Written } from './bulk-fold.ts';
import { copyRows } from '../engine/copy.ts';
import { type Folding, type StoredRow, mainRow, type Row, withOwnColumns } from '../engine/folding.ts';
import { createKey } from '../engine/generation-tables.ts';
import { checkCommitted } from '../engine/apply.ts';
import { createConsequences, fold } from '../engine/fold.ts';
import { marksOf, pastOf } from '../../../projections/past-tables.ts';
import { send } from '../pool.ts';
import { createWriter } from '../engine/write.ts';

/** Fills empty tables without keys from facts, in memory first. */
type Filling = Readonly<{
  /** Takes the next facts of the log, and writes what is too much to hold. */
  take: (facts: readonly Recorded[]) => Promise<void>;
  /** Writes the remaining rows; returns the names of the tables that have their keys. */
  end: () => Promise<ReadonlySet<string>>;
}>;

/**
 * `client` is for this alone meanwhile and must not pipeline; `mostRows` and `mostLate` bound what is held in memory.
 */
type FillOptions = Readonly<{
  client: pg.ClientBase;
  folding: Folding;
  schema: string;
  mostRows?: number;
  mostLate?: number;
}>;

/** Facts of rows written before that are held back, so that they change each of them once. */
const mostLateHeld = 20_000;

/**
 * Prepares to fill a generation's tables; the checkpoint is the caller's.
 *
 * Rows are folded in memory and copied once they are final, or too many: about 100,000 are held, some 150 MB. Facts of
 * rows that were copied before are held back and written row by row, for which their tables get keys.
 */
export function createFilling(options: FillOptions): Filling {
  const { client, folding, schema, mostLate = mostLateHeld } = options;
  const rows = createBulkFold(folding, options.mostRows);
  const main = withOwnColumns(folding.table);
  const [past, marks] = [pastOf(folding.table), marksOf(folding.table)];
  const keyed = new Set<string>();
  let copying: Promise<unknown> = Promise.resolve();

  const write = async (written: Written): Promise<void> => {
    await copying;
    copying = copyAll(client, schema, { main, folding, written });
    // The next caller that awaits it fails with it.
    copying.catch(() => undefined);
  };
  const writeLate = async (): Promise<void> => {
    const late = rows.late();
    if (late.length === 0) return;
    await copying;
    for (const table of [main, ...folding.derivedTables]) {
      if (keyed.has(table.name)) continue;
      await createKey(client, schema, table);
      keyed.add(table.name);
    }
    await changeWritten({ client, folding, schema, late, rows });
    await writePast();
  };
  const writePast = async (): Promise<void> => {
    const superseded = rows.past.takeRows();
    if (!past || superseded.length === 0) return;
    await copying;
    await copyRows(client, schema, { table: past, rows: superseded });
  };
  return {
    take: async (facts) => {
      rows.take(facts);
      await writePast();
      for (let written = rows.letGo(); written; written = rows.letGo()) await write(written);
      if (rows.lateCount() > mostLate) await writeLate();
    },
    end: async () => {
      for (let written = rows.letGo('end'); written; written = rows.letGo('end')) await write(written);
      await writeLate();
      await copying;
      for (const [table, counted] of rows.counters.tables()) await copyRows(client, schema, { table, rows: counted });
      if (marks) await copyRows(client, schema, { table: marks, rows: rows.past.marks() });
      return keyed;
    },
  };
}

type Copied = Readonly<{ main: ReturnType<typeof withOwnColumns>; folding: Folding; written: Written }>;

async function copyAll(client: pg.ClientBase, schema: string, { main, folding, written }: Copied): Promise<void> {
  await copyRows(client, schema, { table: main, rows: mainRows(folding, written.main) });
  for (const table of folding.derivedTables) {
    const rows = written.derived.get(table.name) ?? [];
    if (rows.length > 0) await copyRows(client, schema, { table, rows });
  }
}

function* mainRows({ table }: Folding, rows: Written['main']): Generator<Row> {
  for (const [key, stored] of rows) yield mainRow(table, key, stored);
}

/** Facts of rows that were written before, and the counters that are not. */
type Late = Readonly<{
  client: pg.ClientBase;
  folding: Folding;
  schema: string;
  late: ReturnType<BulkFold['late']>;
  rows: Pick<BulkFold, 'counters' | 'past'>;
}>;

/** Brings written rows forward as a live batch does, but for counters and marks, which are kept in memory. */
async function changeWritten({ client, folding, schema, late, rows: { counters: sums, past } }: Late): Promise<void> {
  const writer = createWriter(folding, schema);
  const keys = [...new Set(late.map(({ key }) => key))];
  await client.query(
    'begin; set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off',
  );
  const { rows } = await send(client, writer.select(keys));
  const before: ReadonlyMap<string, StoredRow> = writer.kept(rows);
  const changed = fold(folding, late, { before, past });
  const following = createConsequences(folding, before);
  following.add(changed);
  const { counters: changes, ...others } = following.all();
  const statements = [...writer.rows(changed, before), ...writer.consequences({ ...others, counters: new Map() })];
  for (const statement of statements) await send(client, statement);
  for (const [table, added] of changes) sums.add(table, added);
  checkCommitted(await client.query('commit'));
}
