import type { Recorded } from '../../../commands/ports.ts';
import type { Count, Derived } from '../../../projections/projection.ts';
import { cleanRow, type Folding, type FoldingTouch, type StoredRow, mainRow, type Row } from '../engine/folding.ts';
import { createKeyFilter, type KeyFilter } from '../engine/key-filter.ts';
import { createCounterSums, type CounterSums } from '../engine/counter-sums.ts';

/** Is shown each row of one of a projection's tables; `-1` takes back a row that was shown before. */
export type See = (table: string, row: Row, times: 1 | -1) => void;

/**
 * What the log says that a projection's tables hold: its handlers, one fact after the other, and nothing of the engine.
 */
export type IndependentFold = Readonly<{
  /** Takes the next facts of the log, each once and in order. */
  take: (facts: readonly Recorded[]) => void;
  /** Shows rows at the end of the log, at most so many, and holds them no more; gives back whether there are others. */
  show: (most: number) => boolean;
  /**
   * Folds that correct what was shown of rows which changed afterwards; each has to take the whole log again, and to
   * show all.
   */
  corrections: () => Iterable<IndependentFold>;
  /** Rows of the tables of counters, once everything else was shown. */
  counters: () => Iterable<readonly [table: string, row: Count]>;
}>;

/** `mostRows` is how many rows may be held. */
type FoldOptions = Readonly<{ see: See; mostRows?: number | undefined }>;

/** About 70 MB of actions, which are the largest. */
const mostRowsHeld = 50_000;

type Shown = Readonly<{ folding: Folding; see: See; sums: CounterSums; mostRows: number }>;

/**
 * Makes a fold in memory that shares nothing with how tables are written, to compare them with.
 *
 * It shows the rows that were touched longest ago as soon as it holds too many. What changes later is corrected by a
 * fold of its own over the log, so that memory is bounded whatever the log holds.
 */
export function createIndependentFold(
  folding: Folding,
  { see, mostRows = mostRowsHeld }: FoldOptions,
): IndependentFold {
  return foldOf({ folding, see, sums: createCounterSums(folding), mostRows });
}

/** `changed`: take these keys alone, and take back what was shown of each before this sequence. */
function foldOf(shown: Shown, changed?: ReadonlyMap<string, number>): IndependentFold {
  const { folding, sums, mostRows } = shown;
  // In the order in which they were last touched.
  const rows = new Map<string, StoredRow>();
  const late = new Map<string, number>();
  const showRow = createShowing(shown);
  let gone: KeyFilter | undefined;
  const isHeldBack = (key: string, sequence: number): boolean => {
    if (!gone?.mayHold(key)) return false;
    if (!late.has(key)) late.set(key, sequence);
    return true;
  };
  const touch = ({ key, next }: FoldingTouch, sequence: number): void => {
    const kept = rows.get(key);
    if (!kept && (changed ? !changed.has(key) : isHeldBack(key, sequence))) return;
    if (kept && changed?.get(key) === sequence) showRow(key, kept, -1);
    const before = kept?.row ?? undefined;
    const row = next(before);
    if (kept) rows.delete(key);
    rows.set(key, { row: row && cleanRow(row, before), position: sequence });
  };
  const show = (most: number, into?: KeyFilter): boolean => {
    let left = most;
    for (const [key, kept] of rows) {
      if (left-- <= 0) return true;
      showRow(key, kept, 1);
      rows.delete(key);
      into?.add(key);
    }
    return false;
  };
  return {
    take: (facts) => {
      for (const { fact, sequence } of facts) for (const one of folding.touches(fact)) touch(one, sequence);
      if (!changed && rows.size > mostRows) show(rows.size - mostRows, (gone ??= createKeyFilter()));
    },
    show: (most) => show(most),
    corrections: function* () {
      const keys = [...late];
      for (let from = 0; from < keys.length; from += mostRows)
        yield foldOf(shown, new Map(keys.slice(from, from + mostRows)));
    },
    counters: function* () {
      for (const [{ name }, found] of sums.tables()) for (const row of found) yield [name, row];
    },
  };
}

/** Shows a row of the main table with what follows from it. */
function createShowing({ folding, see, sums }: Shown): (key: string, kept: StoredRow, times: 1 | -1) => void {
  const keys = new Map(folding.derivedTables.map(({ name, key }) => [name, key]));
  const nameOf = ({ table, values }: Derived): string =>
    JSON.stringify([table, ...(keys.get(table) ?? []).map((column) => values[column])]);
  return (key, kept, times) => {
    see(folding.table.name, mainRow(folding.table, key, kept), times);
    if (!kept.row) return;
    const derived = folding.derived(kept.row);
    // The last of those with the same key.
    const distinct = derived.length < 2 ? derived : new Map(derived.map((one) => [nameOf(one), one])).values();
    for (const { table, values } of distinct) see(table, values, times);
    sums.count(kept.row, times);
  };
}
