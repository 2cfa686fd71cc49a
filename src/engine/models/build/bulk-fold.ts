import type { Recorded } from '../../../commands/ports.ts';
import type { Derived } from '../../../projections/projection.ts';
import { attempt, type Keyed, keyed, step } from '../engine/fold.ts';
import type { Folding, StoredRow, Row } from '../engine/folding.ts';
import { createKeyFilter, type KeyFilter } from '../engine/key-filter.ts';
import { createCounterSums, type CounterSums } from '../engine/counter-sums.ts';
import { createPastRows, type PastRows } from '../engine/past.ts';

/** Rows that are ready to be written: of the main table and, by their names, of the derived ones. */
export type Written = Readonly<{
  main: readonly (readonly [key: string, kept: StoredRow])[];
  derived: ReadonlyMap<string, readonly Row[]>;
}>;

/** Folds a log from its first fact on, and releases the rows that were touched longest ago when there are too many. */
export type BulkFold = Readonly<{
  take: (facts: readonly Recorded[]) => void;
  /**
   * Removes and returns some rows to write, if there are more than may be held, or any at the `end` of the log; by the
   * end each comes once.
   */
  letGo: (at?: 'end') => Written | undefined;
  /** Removes and returns the facts of rows that were released before: they change rows that have been written. */
  late: () => readonly Keyed[];
  lateCount: () => number;
  /** Counters of all rows that were released. */
  counters: CounterSums;
  /** Superseded rows; the caller writes them now and then. */
  past: PastRows;
}>;

const mostRowsHeld = 100_000;
/** Few enough that other work of the process continues meanwhile. */
const rowsAtOnce = 4000;

/** Makes the fold; `mostRows` is for tests. */
export function createBulkFold(folding: Folding, mostRows = mostRowsHeld): BulkFold {
  // In the order in which they were last touched.
  const rows = new Map<string, StoredRow>();
  const counters = createCounterSums(folding);
  const past = createPastRows(folding);
  let late: Keyed[] = [];
  let gone: KeyFilter | undefined;
  const takeOne = (one: Keyed): void => {
    const stored = rows.get(one.key);
    if (!stored && gone?.mayHold(one.key)) {
      late.push(one);
      return;
    }
    const next = step(folding, stored, one);
    if (next !== stored) past.note(one.key, stored, one.sequence);
    if (stored && mostRows < Infinity) rows.delete(one.key);
    rows.set(one.key, next);
  };
  const oldest = (count: number): (readonly [string, StoredRow])[] => {
    const accepted: (readonly [string, StoredRow])[] = [];
    for (const entry of rows) {
      if (accepted.length >= count) break;
      accepted.push(entry);
    }
    return accepted;
  };
  return {
    take: (facts) => {
      for (const one of keyed(folding, facts)) takeOne(one);
    },
    letGo: (at) => {
      if (rows.size === 0 || (at !== 'end' && rows.size <= mostRows)) return undefined;
      const main = oldest(Math.min(rows.size, Math.max(1, Math.min(rowsAtOnce, mostRows / 4))));
      for (const [key] of main) rows.delete(key);
      if (at !== 'end') {
        gone ??= createKeyFilter();
        for (const [key] of main) gone.add(key);
      }
      return { main, derived: consequencesOf(folding, main, counters) };
    },
    late: () => {
      const used = late;
      late = [];
      return used;
    },
    lateCount: () => late.length,
    counters,
    past,
  };
}

/** Derived rows of rows that are written for the first time, by table; their counters are added to `sums`. */
function consequencesOf(folding: Folding, rows: Written['main'], sums: CounterSums): Written['derived'] {
  const tables = new Map<string, Row[]>(folding.derivedTables.map(({ name }) => [name, []]));
  for (const [, { row, position }] of rows) {
    if (!row) continue;
    const derived = attempt(folding, position, () => {
      sums.count(row, 1);
      return folding.derived(row);
    });
    for (const { table, values } of derived.length > 1 ? distinct(folding, derived) : derived) {
      const into = tables.get(table);
      if (!into) throw new Error(`There is no derived table ${table}`);
      into.push(values);
    }
  }
  return tables;
}

/** The last of those derived rows of one row that have the same key. */
function distinct({ derivedTables }: Folding, derived: readonly Derived[]): Derived[] {
  const isSame = (a: Derived, b: Derived): boolean =>
    a.table === b.table &&
    (derivedTables.find(({ name }) => name === a.table)?.key ?? []).every(
      (column) => a.values[column] === b.values[column],
    );
  return derived.filter((one, at) => !derived.slice(at + 1).some((later) => isSame(one, later)));
}
