import type { Recorded } from '../../../src/commands/ports.ts';
import type { RowOf } from '../../../src/projections/columns.ts';
import { sumsOf, touchesOf } from '../../support/histories/load-projection.ts';
import type { SmallTables } from './engine.ts';
import { small } from './small-projection.ts';

type Row = RowOf<typeof small.table>;

/** What the tables must hold after a history, fact by fact, without any of the engine's code. */
export function expected(history: readonly Recorded[]): SmallTables {
  const kept = new Map<string, { row: Row | null; position: number }>();
  const past: (Row & { position: number; until: number })[] = [];
  for (const { fact, sequence } of history) {
    for (const { key, next } of touchesOf(small, fact)) {
      const before = kept.get(key);
      const row = next(before?.row ?? undefined);
      if (before?.row) past.push({ ...before.row, position: before.position, until: sequence });
      kept.set(key, { row: row && stored(row), position: sequence });
    }
  }
  const rows = [...kept.values()].flatMap(({ row }) => (row ? [row] : []));
  return {
    nodes: sorted([...kept], ([id]) => [id]).map(([id, { row, position }]) => ({
      ...(row ?? { ...nothing, id }),
      position,
      removed: !row,
    })),
    past: past.toSorted((a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)) || a.position - b.position),
    notes: sorted(
      rows.flatMap((row) => small.derived?.(row) ?? []).map(({ values }) => values),
      (note) => [text(note.id), text(note.note)],
    ),
    counters: sorted(
      (small.counters ?? []).flatMap(({ table, counts }) => sumsOf(table, rows.flatMap(counts))),
      (row) => [text(row['of']), text(row['name'])],
    ),
  };
}

/** Counts the nodes that are listed after the first facts of a history, ever more of them: each is folded once. */
export function countListed(): (history: readonly Recorded[], upTo: number) => number {
  const kept = new Map<string, Row | null>();
  let folded = 0;
  return (history, upTo) => {
    for (const { fact } of history.slice(folded, upTo)) {
      for (const { key, next } of touchesOf(small, fact)) {
        const row = next(kept.get(key) ?? undefined);
        kept.set(key, row && stored(row));
      }
    }
    folded = upTo;
    return [...kept.values()].filter((row) => row !== null).length;
  };
}

const nothing = { touched: null, account: null, weight: null, score: null, odd: null, notes: null, last: null };

/** PostgreSQL's text holds neither NUL nor half a character. */
function stored(row: Row): Row {
  const text = JSON.stringify(row, (_key, value: unknown) =>
    typeof value === 'string' ? value.replaceAll('\0', '\uFFFD').toWellFormed() : value,
  );
  return JSON.parse(text) as Row;
}

const text = (cell: unknown): string => (typeof cell === 'string' ? cell : '');

function sorted<T>(items: readonly T[], keys: (item: T) => readonly string[]): T[] {
  const bytes = (item: T) => keys(item).map((key) => Buffer.from(key));
  return items.toSorted((a, b) => {
    const [first, second] = [bytes(a), bytes(b)];
    return first.map((key, at) => Buffer.compare(key, second[at] ?? Buffer.of())).find((order) => order !== 0) ?? 0;
  });
}
