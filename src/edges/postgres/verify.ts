import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type pg from 'pg';
import type { Table } from '../../projections/projection.ts';
import { type Checksum, createSumming, differing, namedRow, storedChecksum, storedRows } from './checksum.ts';
import { StopError } from './database-error.ts';
import type { Folding } from './folding.ts';
import { counterRows, createIndependentFold, type IndependentFold, type TableRow } from './independent-fold.ts';
import { storedTables } from './stored-tables.ts';
import { createTally } from './tally.ts';

/** Compares tables with what the log says that they hold. */
export type Verification = Readonly<{
  /** Adds up one stored table; call it for each. */
  addStored: (client: pg.ClientBase, table: Table) => Promise<void>;
  /** Adds up the fold; may run at the same time. */
  addFolded: () => Promise<void>;
  /** Fails with a `StopError` that names the first rows that differ, once both sides are added up. */
  compare: (client: pg.ClientBase) => Promise<void>;
}>;

/** `first` has taken the whole log up to where the tables are; `again` shows a further fold the same facts. */
export type VerifyOptions = Readonly<{
  folding: Folding;
  schema: string;
  generation: number;
  first: IndependentFold;
  again: (take: IndependentFold['take']) => Promise<void>;
}>;

const rowsAtOnce = 1000;
const mostNamed = 3;
const mostText = 400;

/** Prepares the comparison of a generation's tables. */
export function createVerification(options: VerifyOptions): Verification {
  const { folding, schema, generation } = options;
  const tables = storedTables(folding);
  const summings = new Map(tables.map((table) => [table.name, createSumming(table)]));
  const stored = new Map<string, Checksum>();
  const wrong = (table: Table): number[] =>
    differing(summings.get(table.name)?.checksum() ?? [], stored.get(table.name) ?? []);
  return {
    addStored: async (client, table) => {
      stored.set(table.name, await storedChecksum(client, schema, table));
    },
    addFolded: () => eachFolded(options, ({ table, row }) => summings.get(table)?.add(row)),
    compare: async (client) => {
      for (const table of tables) {
        const within = wrong(table);
        if (within.length === 0) continue;
        const differences = await describe(options, client, { table, within });
        throw new StopError(
          `Generation ${generation} of ${folding.name} does not hold what the log says, and is not switched to: ${differences}`,
        );
      }
    },
  };
}

/** Shows every row that the fold makes, part by part where it does not fit at once. */
async function eachFolded({ folding, first, again }: VerifyOptions, see: (row: TableRow) => void): Promise<void> {
  const sums = createTally();
  const parts = first.parts();
  for (let part = 0; part < parts; part++) {
    const fold = part === 0 ? first : createIndependentFold(folding, { part, parts });
    if (part > 0) await again(fold.take);
    await eachOf(fold.rows(sums), see);
  }
  await eachOf(counterRows(sums), see);
}

async function eachOf(rows: Iterable<TableRow>, see: (row: TableRow) => void): Promise<void> {
  let seen = 0;
  for (const row of rows) {
    see(row);
    seen += 1;
    if (seen % rowsAtOnce === 0) await yieldToOthers();
  }
}

async function describe(
  options: VerifyOptions,
  client: pg.ClientBase,
  { table, within }: { table: Table; within: readonly number[] },
): Promise<string> {
  const wanted = new Set(within);
  const { bucketOf } = createSumming(table);
  const folded = new Map<string, string>();
  await eachFolded(options, ({ table: name, row }) => {
    if (name === table.name && wanted.has(bucketOf(row))) folded.set(...namedRow(table, row));
  });
  const kept = await storedRows(client, options.schema, { table, within });
  const keys = [...new Set([...folded.keys(), ...kept.keys()])].filter((key) => folded.get(key) !== kept.get(key));
  const named = keys
    .slice(0, mostNamed)
    .map(
      (key) =>
        `${readable(key)} is ${readable(kept.get(key))} in the table and ${readable(folded.get(key))} by the log`,
    );
  return `${keys.length} rows of ${table.name} differ: ${named.join('; ')}`;
}

const readable = (text: string | undefined): string =>
  text === undefined
    ? 'missing'
    : `(${text
        .replaceAll('\u001f', ', ')
        .replaceAll(/(^|, )=/g, '$1')
        .slice(0, mostText)})`;
