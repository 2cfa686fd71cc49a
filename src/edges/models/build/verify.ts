import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type pg from 'pg';
import type { Recorded } from '../../../commands/ports.ts';
import type { Table } from '../../../projections/columns.ts';
import { type Checksum, createSumming, differing, namedRow, storedChecksum, storedRows } from '../engine/checksum.ts';
import { StopError } from '../database-error.ts';
import { type Folding, storedTables } from '../engine/folding.ts';
import { createIndependentFold, type IndependentFold, type See } from './independent-fold.ts';

type Take = IndependentFold['take'];

/** Compares tables with what the log says that they hold. */
type Verification = Readonly<{
  /** Takes the next facts of the log, each once and in order, up to where the tables are. */
  take: Take;
  /** Adds up one stored table; call it for each. */
  addStored: (client: pg.ClientBase, table: Table) => Promise<void>;
  /** Adds up the fold of all that was taken; may run at the same time. */
  addFolded: () => Promise<void>;
  /** Fails with a `StopError` that names the first rows that differ, once both sides are added up. */
  compare: (client: pg.ClientBase) => Promise<void>;
}>;

/** `again` shows the facts that were taken once more; `mostRows` is how many rows of the fold are held. */
export type VerifyOptions = Readonly<{
  folding: Folding;
  schema: string;
  generation: number;
  again: (take: (facts: readonly Recorded[]) => void) => Promise<void>;
  mostRows?: number | undefined;
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
  const { take, end } = foldAll(options, (table, row, times) => summings.get(table)?.add(row, times));
  const wrong = (table: Table): number[] =>
    differing(summings.get(table.name)?.checksum() ?? [], stored.get(table.name) ?? []);
  return {
    take,
    addStored: async (client, table) => {
      stored.set(table.name, await storedChecksum(client, schema, table));
    },
    addFolded: end,
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

/** Shows every row that the fold makes of the facts it is given, in the end. */
function foldAll({ folding, mostRows, again }: VerifyOptions, see: See): { take: Take; end: () => Promise<void> } {
  const fold = createIndependentFold(folding, { see, mostRows });
  const showAll = async (one: IndependentFold): Promise<void> => {
    while (one.show(rowsAtOnce)) await yieldToOthers();
  };
  return {
    take: fold.take,
    end: async () => {
      await showAll(fold);
      for (const correction of fold.corrections()) {
        await again(correction.take);
        await showAll(correction);
      }
      let shown = 0;
      for (const [table, row] of fold.counters()) {
        see(table, row, 1);
        shown += 1;
        if (shown % rowsAtOnce === 0) await yieldToOthers();
      }
    },
  };
}

async function describe(
  options: VerifyOptions,
  client: pg.ClientBase,
  { table, within }: { table: Table; within: readonly number[] },
): Promise<string> {
  const wanted = new Set(within);
  const { bucketOf } = createSumming(table);
  const folded = new Map<string, string>();
  const { take, end } = foldAll(options, (name, row, times) => {
    if (name !== table.name || !wanted.has(bucketOf(row))) return;
    const [key, text] = namedRow(table, row);
    if (times === 1) folded.set(key, text);
    else folded.delete(key);
  });
  await options.again(take);
  await end();
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
