import type { Recorded } from '../../../commands/ports.ts';
import type { Count, Derived } from '../../../projections/projection.ts';
import type { Cell, Table } from '../../../projections/columns.ts';
import { cleanRow, type Folding, type FoldingTouch, type StoredRow, type Row } from './folding.ts';
import { createCounterSums } from './counter-sums.ts';
import type { PastRows } from './past.ts';
import { StopError } from '../database-error.ts';

/** Rows of the main table that a batch changes, each once. */
export type ChangedRows = readonly (readonly [key: string, kept: StoredRow])[];

/** The consequences of the rows that a batch changes. */
export type Consequences = Readonly<{
  /** Derived rows to delete, by table; only their key columns count. */
  gone: ReadonlyMap<string, readonly Row[]>;
  /** Derived rows that are new, by table. */
  fresh: ReadonlyMap<string, readonly Row[]>;
  /** Derived rows that were there with other values, by table. */
  changed: ReadonlyMap<string, readonly Row[]>;
  /** What to add to counters, by table; never rows of zeros. */
  counters: ReadonlyMap<string, readonly Count[]>;
}>;

/** A row that a fact touches, by the sequence of the fact. */
export type Keyed = FoldingTouch & Readonly<{ sequence: number }>;

/** The rows that facts touch, in the order of the facts. Fails with the sequence of the fact that cannot be applied. */
export function keyed(folding: Folding, facts: readonly Recorded[]): Keyed[] {
  const match: Keyed[] = [];
  for (const { fact, sequence } of facts)
    for (const { key, next } of attempt(folding, sequence, () => folding.touches(fact)))
      match.push({ key, next, sequence });
  return match;
}

/**
 * Folds facts over the rows as they were; `past` takes note of each row that a fact supersedes.
 *
 * A row that was last touched at or after a fact's sequence ignores the fact, so any split, overlap or repetition of
 * the same facts ends in the same rows. Fails with a `StopError` that names the fact which the projection cannot take.
 */
export function fold(
  folding: Folding,
  touched: readonly Keyed[],
  { before, past }: Readonly<{ before: ReadonlyMap<string, StoredRow>; past: PastRows }>,
): ChangedRows {
  const after = new Map<string, StoredRow>();
  for (const one of touched) {
    const stored = after.get(one.key) ?? before.get(one.key);
    const next = step(folding, stored, one);
    if (next === stored) continue;
    past.note(one.key, stored, one.sequence);
    after.set(one.key, next);
  }
  return [...after];
}

/** The row that a fact makes of another one; the very same where it was last touched at or after the fact. */
export function step(folding: Folding, retained: StoredRow | undefined, { next, sequence }: Keyed): StoredRow {
  if (retained && retained.position >= sequence) return retained;
  const row = attempt(folding, sequence, () => next(retained?.row ?? undefined));
  return { row: row && cleanRow(row, retained?.row), position: sequence };
}

/** Derives the consequences of changed rows, which may be added part by part; `before` holds the rows as they were. */
export function createConsequences(
  folding: Folding,
  before: ReadonlyMap<string, StoredRow>,
): Readonly<{ add: (rows: ChangedRows) => void; all: () => Consequences }> {
  const had = new Map<string, Derived>();
  const has = new Map<string, Derived>();
  const counters = createCounterSums(folding);
  const tables = new Map(folding.derivedTables.map((table) => [table.name, table]));
  const follow = (row: Row | null | undefined, into: Map<string, Derived>, one: 1 | -1): void => {
    if (!row) return;
    for (const derived of folding.derived(row)) into.set(identity(derived, tables), derived);
    counters.count(row, one);
  };
  return {
    add: (rows) => {
      for (const [key, kept] of rows)
        attempt(folding, kept.position, () => {
          follow(before.get(key)?.row, had, -1);
          follow(kept.row, has, 1);
        });
    },
    all: () => ({
      gone: byTable([...had].filter(([id]) => !has.has(id))),
      fresh: byTable([...has].filter(([id]) => !had.has(id))),
      changed: byTable([...has].filter(([id, derived]) => isOther(had.get(id), derived))),
      counters: new Map(counters.tables().map(([{ name }, rows]) => [name, [...rows]])),
    }),
  };
}

/** Names a derived row by its table and key. */
function identity({ table, values }: Derived, tables: ReadonlyMap<string, Table>): string {
  const result = tables.get(table);
  if (!result) throw new Error(`There is no derived table ${table}`);
  let name = table;
  for (const column of result.key) {
    const cell = values[column] ?? null;
    // Clean text holds no NUL.
    name += typeof cell === 'string' ? `\0=${cell}` : `\0${JSON.stringify(cell)}`;
  }
  return name;
}

function isOther(had: Derived | undefined, has: Derived): boolean {
  if (!had) return false;
  const covers = (one: Row, other: Row): boolean =>
    Object.keys(one).every((name) => isEqual(one[name] ?? null, other[name] ?? null));
  return !covers(had.values, has.values) || !covers(has.values, had.values);
}

const isEqual = (a: Cell, b: Cell): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);

function byTable(entries: readonly (readonly [string, Derived])[]): Map<string, Row[]> {
  const tables = new Map<string, Row[]>();
  for (const [, { table, values }] of entries) {
    const rows = tables.get(table) ?? [];
    tables.set(table, rows);
    rows.push(values);
  }
  return tables;
}

/** Runs a part of a projection over a fact; what it fails with names the fact. */
export function attempt<T>({ name, stream }: Folding, sequence: number, run: () => T): T {
  try {
    return run();
  } catch (caught) {
    const why = caught instanceof Error ? caught.message : String(caught);
    throw new StopError(`Projection ${name} cannot take fact ${sequence} of ${stream}: ${why}`, {
      cause: caught,
      sequence,
    });
  }
}
