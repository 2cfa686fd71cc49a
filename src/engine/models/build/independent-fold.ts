import type { Recorded } from '../../../commands/ports.ts';
import type { Count, Derived } from '../../../projections/projection.ts';
import type { Table } from '../../../projections/columns.ts';
import { marksOf, pastOf, positionsPerMark } from '../../../projections/past-tables.ts';
import {
  cleanRow,
  type Folding,
  type FoldingTouch,
  keyCells,
  mainRow,
  type Row,
  type StoredRow,
} from '../engine/folding.ts';
import { createKeyFilter, type KeyFilter, spread } from '../engine/key-filter.ts';
import { createCounterSums, type CounterSums } from '../engine/counter-sums.ts';
import { openSpill, type Spill } from './spill.ts';

/** Receives each row of one of a projection's tables, once. */
export type See = (table: string, row: Row) => void;

/**
 * The contents of a projection's tables according to the log: its handlers, one fact after the other, and nothing of
 * the engine.
 */
export type IndependentFold = Readonly<{
  /** Takes the next facts of the log, each once and in order. */
  take: (facts: readonly Recorded[]) => void;
  /** Shows all rows at the end of the log, those of the counters last; stops after each thousand or so. */
  show: () => Generator<void>;
  /** Removes what lies on disk; safe to repeat. */
  close: () => void;
}>;

/** `mostRows` is how many rows may be held in memory. */
type FoldOptions = Readonly<{ see: See; mostRows?: number | undefined }>;

/** About 70 MB of actions, which are the largest. */
const mostRowsHeld = 50_000;
/** With a quarter of them two million late rows take 6 % longer and 100 MB more; their buffers take some 20 MB. */
const partitions = 256;
const rowsAtOnce = 1000;

type Shown = Readonly<{
  folding: Folding;
  see: See;
  sums: CounterSums;
  superseded: (key: string, before: StoredRow | undefined, until: number) => void;
  mostRows: number;
}>;

/**
 * Makes a fold in memory that shares no code with the writing of tables, to compare them with.
 *
 * With too many rows it spills those touched longest ago to disk, by partitions of their keys, and every later fact of
 * such a row after them; at the end each partition is folded on its own. So the log is read once, however late its
 * facts are, and memory is bounded whatever it holds.
 */
export function createIndependentFold(
  folding: Folding,
  { see, mostRows = mostRowsHeld }: FoldOptions,
): IndependentFold {
  const past = createPastFold(folding.table, see);
  const shown = { folding, see, sums: createCounterSums(folding), superseded: past.superseded, mostRows };
  const fold = foldOf(shown, 0);
  return {
    take: fold.take,
    show: function* () {
      yield* fold.show();
      for (const [{ name }, counts] of shown.sums.tables()) yield* inParts<Count>(counts, (row) => see(name, row));
      past.showMarks();
    },
    close: fold.close,
  };
}

/** Shows each row that a fact supersedes, and at the end the ends of the new keys of each block of positions. */
function createPastFold(table: Table, see: See) {
  const [past, marks] = [pastOf(table), marksOf(table)];
  const born = new Map<number, bigint[]>();
  return {
    superseded: (key: string, before: StoredRow | undefined, until: number): void => {
      if (past && before?.row)
        see(past.name, { ...before.row, ...keyCells(table, key), position: before.position, until });
      if (!marks || before) return;
      const block = Math.floor(until / positionsPerMark);
      born.set(block, endsOf([...(born.get(block) ?? []), BigInt(key)]));
    },
    showMarks: (): void => {
      for (const [block, [least, greatest = least]] of born)
        see(marks?.name ?? '', { block, least: String(least), greatest: String(greatest) });
    },
  };
}

const endsOf = (keys: readonly bigint[]): bigint[] => {
  const sorted = keys.toSorted((a, b) => (a < b ? -1 : 1));
  return [...sorted.slice(0, 1), ...sorted.slice(-1)];
};

/** A row as it was when it was spilled, or a later fact of some rows that were. */
type Spilled =
  | Readonly<{ key: string; kept: StoredRow }>
  | Readonly<{ keys: readonly string[]; fact: Recorded['fact']; sequence: number }>;

/** Rows that were spilled, and later facts of them, by partitions of their keys. */
type Overflow = Readonly<{
  /**
   * Returns whether a key was spilled; may return true for one that was not, whose facts then join its partition as
   * well.
   */
  mayHold: (key: string) => boolean;
  addRow: (key: string, stored: StoredRow) => void;
  addFact: (keys: readonly string[], recorded: Pick<Recorded, 'fact' | 'sequence'>) => void;
  read: (partition: number) => Generator<Spilled>;
  close: () => void;
}>;

function openOverflow(depth: number): Overflow {
  const keys: KeyFilter = createKeyFilter();
  const spill: Spill<Spilled> = openSpill(partitions);
  return {
    mayHold: keys.mayHold,
    addRow: (key, retained) => {
      keys.add(key);
      spill.add(partitionOf(key, depth), { key, kept: retained });
    },
    addFact: (late, { fact, sequence }) => {
      for (const [partition, own] of Map.groupBy(late, (key) => partitionOf(key, depth)))
        spill.add(partition, { keys: own, fact, sequence });
    },
    read: spill.read,
    close: spill.close,
  };
}

type PartitionFold = IndependentFold & Readonly<{ restore: (record: Spilled) => void }>;

/** A fold of the keys of one partition of the `depth`-th division; the first one is of all keys. */
function foldOf(shown: Shown, depth: number): PartitionFold {
  const { folding, mostRows } = shown;
  // In the order in which they were last touched.
  const rows = new Map<string, StoredRow>();
  const showRow = createShowing(shown);
  let overflow: Overflow | undefined;
  const touch = ({ key, next }: FoldingTouch, sequence: number): boolean => {
    const kept = rows.get(key);
    if (!kept && overflow?.mayHold(key)) return false;
    const before = kept?.row ?? undefined;
    const row = next(before);
    shown.superseded(key, kept, sequence);
    if (kept) rows.delete(key);
    rows.set(key, { row: row && cleanRow(row, before), position: sequence });
    return true;
  };
  const touchAll = (touches: readonly FoldingTouch[], recorded: Pick<Recorded, 'fact' | 'sequence'>): void => {
    let late: string[] | undefined;
    for (const one of touches) if (!touch(one, recorded.sequence)) (late ??= []).push(one.key);
    if (late) overflow?.addFact(late, recorded);
  };
  const spillOldest = (): void => {
    for (const [key, kept] of rows) {
      if (rows.size <= mostRows) return;
      rows.delete(key);
      (overflow ??= openOverflow(depth)).addRow(key, kept);
    }
  };
  return {
    take: (facts) => {
      for (const one of facts) touchAll(folding.touches(one.fact), one);
      spillOldest();
    },
    restore: (record) => {
      if ('key' in record) rows.set(record.key, record.kept);
      else touchAll(touchesOf(folding, record), record);
      spillOldest();
    },
    show: function* () {
      yield* inParts(rows, ([key, kept]) => showRow(key, kept));
      rows.clear();
      for (let partition = 0; overflow && partition < partitions; partition++)
        yield* showPart(foldOf(shown, depth + 1), overflow.read(partition));
    },
    close: () => overflow?.close(),
  };
}

/** The changes of a late fact to the rows that it was spilled for, and to no others that it touches. */
function touchesOf(folding: Folding, { keys, fact }: Extract<Spilled, { fact: unknown }>): readonly FoldingTouch[] {
  const own = new Set(keys);
  return folding.touches(fact).filter(({ key }) => own.has(key));
}

function* showPart(part: PartitionFold, records: Iterable<Spilled>): Generator<void> {
  try {
    yield* inParts(records, part.restore);
    yield* part.show();
  } finally {
    part.close();
  }
}

/** Each division of keys spreads them anew, so that a partition that is too large is divided evenly again. */
const partitionOf = (key: string, depth: number): number => (spread(key, 0x2545f491 + depth) >>> 0) % partitions;

function* inParts<T>(values: Iterable<T>, use: (value: T) => void): Generator<void> {
  let count = 0;
  for (const value of values) {
    use(value);
    count += 1;
    if (count % rowsAtOnce === 0) yield;
  }
}

/** Shows a row of the main table with what follows from it. */
function createShowing({ folding, see, sums }: Shown): (key: string, kept: StoredRow) => void {
  const keys = new Map(folding.derivedTables.map(({ name, key }) => [name, key]));
  const nameOf = ({ table, values }: Derived): string =>
    JSON.stringify([table, ...(keys.get(table) ?? []).map((column) => values[column])]);
  return (key, kept) => {
    see(folding.table.name, mainRow(folding.table, key, kept));
    if (!kept.row) return;
    const derived = folding.derived(kept.row);
    // The last of those with the same key.
    const distinct = derived.length < 2 ? derived : new Map(derived.map((one) => [nameOf(one), one])).values();
    for (const { table, values } of distinct) see(table, values);
    sums.count(kept.row, 1);
  };
}
