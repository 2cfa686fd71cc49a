import type { Cell as StoredCell, Table } from '../../../projections/columns.ts';
import type { Count, Counters } from '../../../projections/projection.ts';

/** The sums of a projection's counters. */
export type CounterSums = Readonly<{
  /** Adds what a row counts; `-1` takes it away again. */
  count: (row: Row, times: 1 | -1) => void;
  /** Adds rows of one of the tables. */
  add: (table: string, rows: readonly Count[]) => void;
  /** The rows of each table whose sums are not all zero; those with the same first key columns follow one another. */
  tables: () => readonly (readonly [table: Table, rows: Iterable<Count>])[];
}>;

type Row = Readonly<Record<string, StoredCell>>;
type Cell = Count[string];
/** `numeric` columns are added up as integers of any size, all others as doubles. */
type Sum = number | bigint;
/** One map for each key column: a lookup cell by cell is faster than one by a joined text. */
type Node = { below?: Map<Cell, Node>; sums?: Sum[] };

/** Makes sums that are all zero. */
export function createCounterSums({ counters }: { readonly counters: readonly Counters<Row>[] }): CounterSums {
  const all = counters.map(({ table, counts }) => ({ table, counts, sums: createTableSums(table) }));
  return {
    count: (row, times) => {
      for (const { counts, sums } of all) for (const count of counts(row)) sums.add(count, times);
    },
    add: (name, rows) => {
      const match = all.find(({ table }) => table.name === name);
      for (const row of rows) match?.sums.add(row, 1);
    },
    tables: () => all.map(({ table, sums }) => [table, sums.rows()]),
  };
}

/** The columns of a table of counters that are added up: all but its key. */
export const summedColumns = ({ key, columns }: Table): string[] =>
  Object.keys(columns).filter((column) => !key.includes(column));

function createTableSums(table: Table) {
  const { key, columns } = table;
  const summed = summedColumns(table);
  const zeros: readonly Sum[] = summed.map((column) => (columns[column] === 'numeric' ? 0n : 0));
  const root: Node = {};
  const add = (values: Count, times: 1 | -1): void => {
    let node = root;
    for (const column of key) {
      const cell = values[column] ?? '';
      const below = (node.below ??= new Map<Cell, Node>());
      let next = below.get(cell);
      if (!next) below.set(cell, (next = {}));
      node = next;
    }
    const sums = (node.sums ??= [...zeros]);
    // Loops over entries take three times as long.
    for (let at = 0; at < summed.length; at++) sums[at] = plus(sums[at] ?? 0, values[summed[at] ?? ''] ?? 0, times);
  };
  const rowOf = (cells: readonly Cell[], sums: readonly Sum[]): Count => {
    const row: Record<string, Cell> = {};
    for (let at = 0; at < key.length; at++) row[key[at] ?? ''] = cells[at] ?? '';
    for (let at = 0; at < summed.length; at++) row[summed[at] ?? ''] = cellOf(sums[at] ?? 0);
    return row;
  };
  const rows = function* (): Generator<Count> {
    const cells: Cell[] = [];
    const levels = [(root.below ?? new Map<Cell, Node>()).entries()];
    for (let level = levels.at(-1); level; level = levels.at(-1)) {
      const { done, value } = level.next();
      if (done) {
        levels.pop();
        continue;
      }
      const [cell, { below, sums }] = value;
      cells[levels.length - 1] = cell;
      if (below) levels.push(below.entries());
      else if (sums?.some((sum) => sum !== 0 && sum !== 0n)) yield rowOf(cells, sums);
    }
  };
  return { add, rows };
}

function plus(sum: Sum, cell: Cell, times: 1 | -1): Sum {
  if (typeof sum === 'number') return sum + Number(cell) * times;
  const complete = BigInt(cell);
  return times === 1 ? sum + complete : sum - complete;
}

const cellOf = (sum: Sum): Cell => (typeof sum === 'bigint' ? String(sum) : sum);
