import { type MarkRow, marksOf, positionsPerMark, pastOf } from '../../../projections/past-tables.ts';
import { type Folding, keyCells, type Row, type StoredRow } from './folding.ts';

/** The superseded rows of a projection's main table, collected while facts are folded. */
export type PastRows = Readonly<{
  /** Takes note of a row as it was before a fact, undefined where there was none, by the sequence of that fact. */
  note: (key: string, before: StoredRow | undefined, until: number) => void;
  /** Removes and returns the superseded rows so far, as they are stored. */
  takeRows: () => readonly Row[];
  /** The marks of all rows that were new, as they are stored. */
  marks: () => readonly MarkRow[];
}>;

/** Prepares to collect; what the projection's table does not keep is left out. */
export function createPastRows({ table }: Pick<Folding, 'table'>): PastRows {
  const isKept = pastOf(table) !== undefined;
  const born = marksOf(table) ? new Map<number, MarkRow>() : undefined;
  let rows: Row[] = [];
  return {
    note: (key, before, until) => {
      if (!before) {
        if (born) mark(born, key, until);
      } else if (isKept && before.row) {
        rows.push({ ...before.row, ...keyCells(table, key), position: before.position, until });
      }
    },
    takeRows: () => {
      const taken = rows;
      rows = [];
      return taken;
    },
    marks: () => [...(born?.values() ?? [])],
  };
}

function mark(born: Map<number, MarkRow>, key: string, position: number): void {
  const block = Math.floor(position / positionsPerMark);
  const { least, greatest } = born.get(block) ?? { least: key, greatest: key };
  if (isGreater(key, greatest)) born.set(block, { block, least, greatest: key });
  else if (!born.has(block) || isGreater(least, key)) born.set(block, { block, least: key, greatest });
}

/** Compares whole numbers of any size in decimal, which have no leading zeros. */
const isGreater = (a: string, b: string): boolean => a.length > b.length || (a.length === b.length && a > b);
