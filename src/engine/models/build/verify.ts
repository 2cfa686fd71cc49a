import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type pg from 'pg';
import type { Recorded } from '../../../commands/ports.ts';
import type { Table } from '../../../projections/columns.ts';
import { type Checksum, createSumming, differing, namedRow, storedChecksum, storedRows } from '../engine/checksum.ts';
import { StopError } from '../database-error.ts';
import { type Folding, storedTables } from '../engine/folding.ts';
import { createIndependentFold, type IndependentFold, type See } from './independent-fold.ts';

/** Compares tables with their contents according to the log. */
type Verification = Readonly<{
  /** Takes the next facts of the log, each once and in order, up to the position of the tables. */
  take: IndependentFold['take'];
  /** Adds up one stored table; call it for each. */
  addStored: (client: pg.ClientBase, table: Table) => Promise<void>;
  /** Adds up the fold of all facts so far; may run concurrently. */
  addFolded: () => Promise<void>;
  /** Fails with a `StopError` that names the first rows that differ, once both sides are added up. */
  compare: () => Promise<void>;
  /** Removes what lies on disk; safe to repeat. */
  close: () => void;
}>;

/** Rows of a table within some buckets as they are stored, by their key, and the position that they are of. */
export type StoredRows = Readonly<{ rows: ReadonlyMap<string, string>; position: number }>;

/** Options of the second comparison of differing rows; `mostRows` is how many rows of the fold are held in memory. */
export type VerifyOptions = Readonly<{
  folding: Folding;
  generation: number;
  schema: string;
  /** Reads the stored rows of some buckets, in a snapshot of their own. */
  stored: (read: (client: pg.ClientBase) => ReturnType<typeof storedRows>) => Promise<StoredRows>;
  /** Shows the facts up to a position once more. */
  again: (take: (facts: readonly Recorded[]) => void, position: number) => Promise<void>;
  mostRows?: number | undefined;
}>;

const mostNamed = 3;
const mostText = 400;

/** Prepares the comparison of a generation's tables; the log is read once, and once more where something differs. */
export function createVerification(options: VerifyOptions): Verification {
  const { folding, schema, generation, mostRows } = options;
  const tables = storedTables(folding);
  const summings = new Map(tables.map((table) => [table.name, createSumming(table)]));
  const stored = new Map<string, Checksum>();
  const fold = createIndependentFold(folding, { see: (table, row) => summings.get(table)?.add(row), mostRows });
  return {
    take: fold.take,
    addStored: async (client, table) => {
      stored.set(table.name, await storedChecksum(client, schema, table));
    },
    addFolded: () => showAll(fold),
    compare: async () => {
      for (const table of tables) {
        const within = differing(summings.get(table.name)?.checksum() ?? [], stored.get(table.name) ?? []);
        if (within.length === 0) continue;
        const differences = await describe(options, { table, within });
        throw new StopError(
          `Generation ${generation} of ${folding.name} does not hold what the log says, and is not switched to: ${differences}`,
        );
      }
    },
    close: fold.close,
  };
}

async function showAll(fold: IndependentFold): Promise<void> {
  for (const _ of fold.show()) await yieldToOthers();
}

async function describe(
  { folding, schema, stored, again, mostRows }: VerifyOptions,
  { table, within }: { table: Table; within: readonly number[] },
): Promise<string> {
  const retained = await stored((client) => storedRows(client, schema, { table, within }));
  const wanted = new Set(within);
  const { bucketOf } = createSumming(table);
  const folded = new Map<string, string>();
  const see: See = (name, row) => {
    if (name === table.name && wanted.has(bucketOf(row))) folded.set(...namedRow(table, row));
  };
  const fold = createIndependentFold(folding, { see, mostRows });
  try {
    await again(fold.take, retained.position);
    await showAll(fold);
  } finally {
    fold.close();
  }
  const keys = [...new Set([...folded.keys(), ...retained.rows.keys()])].filter(
    (key) => folded.get(key) !== retained.rows.get(key),
  );
  const named = keys
    .slice(0, mostNamed)
    .map(
      (key) =>
        `${readable(key)} is ${readable(retained.rows.get(key))} in the table and ${readable(folded.get(key))} by the log`,
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
