import type { Recorded } from '../../commands/ports.ts';
import type { Derived } from '../../projections/projection.ts';
import { cleanRow, cleanText } from './clean.ts';
import type { Folding, Row } from './folding.ts';
import { hashOf } from './key-filter.ts';
import { counters, type Kept, mainRow } from './stored-tables.ts';
import type { Tally } from './tally.ts';

/** A row of one of a projection's tables. */
export type TableRow = Readonly<{ table: string; row: Row }>;

/** What the log says that a projection's tables hold: its handlers, one fact after the other, and nothing of the engine. */
export type IndependentFold = Readonly<{
  /** Takes the next facts of the log, each once and in order. */
  take: (facts: readonly Recorded[]) => void;
  /** How many parts the rows were split into so that one of them fits; `take` keeps the rows of part `part` only. */
  parts: () => number;
  /** Every row of this part's tables once, but for counters, which are added up in `sums` meanwhile. */
  rows: (sums: Tally) => Iterable<TableRow>;
}>;

/** `part` of how many `parts` to keep; `mostRows` is how many rows may be held before the first part is split further. */
export type FoldOptions = Readonly<{ part?: number; parts?: number; mostRows?: number }>;

/** Rows that are held at once: about 700 MB of actions, which are the largest. */
const mostRowsHeld = 500_000;

/**
 * Makes a fold in memory that shares nothing with how tables are written, to compare them with.
 *
 * Only the first part (0) may grow beyond `mostRows`: then it lets go of half of its keys, which are folded in a pass of
 * their own.
 */
export function createIndependentFold(folding: Folding, options: FoldOptions = {}): IndependentFold {
  const { part = 0, mostRows = mostRowsHeld } = options;
  const rows = new Map<string, Kept>();
  let parts = options.parts ?? 1;
  const isOurs = (key: string): boolean => parts === 1 || hashOf(key) % parts === part;
  const halve = (): void => {
    parts *= 2;
    for (const key of rows.keys()) if (!isOurs(key)) rows.delete(key);
  };
  return {
    take: (facts) => {
      for (const { fact, sequence } of facts) {
        if (!folding.handles(fact)) continue;
        const key = cleanText(folding.key(fact));
        if (!isOurs(key)) continue;
        const before = rows.get(key)?.row ?? undefined;
        const row = folding.next(before, fact);
        rows.set(key, { row: row && cleanRow(row, before), position: sequence });
        if (rows.size > mostRows && part === 0) halve();
      }
    },
    parts: () => parts,
    rows: function* (sums) {
      for (const [key, kept] of rows) {
        yield { table: folding.table.name, row: mainRow(folding.table, key, kept) };
        if (!kept.row) continue;
        yield* derivedRows(folding, kept.row);
        sums.add(folding.counts(kept.row), 1);
      }
    },
  };
}

/** Derived rows of one row, the last of those with the same key. */
function* derivedRows(folding: Folding, row: Row): Generator<TableRow> {
  const derived = folding.derived(row);
  const keys = new Map(folding.derivedTables.map(({ name, key }) => [name, key]));
  const nameOf = ({ table, values }: Derived): string =>
    JSON.stringify([table, ...(keys.get(table) ?? []).map((column) => values[column])]);
  const distinct = derived.length < 2 ? derived : new Map(derived.map((one) => [nameOf(one), one])).values();
  for (const { table, values } of distinct) yield { table, row: values };
}

/** Counters as rows of their table. */
export function* counterRows(sums: Tally): Generator<TableRow> {
  for (const [name, n] of sums.sums()) yield { table: counters.name, row: { name, n } };
}
