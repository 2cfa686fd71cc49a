import type { Cell } from '../../projections/projection.ts';
import type { Row } from './folding.ts';

/** PostgreSQL takes no NUL in text, and no half of a character: both become the replacement character. */
export function cleanText(text: string): string {
  return text.includes('\0') || !text.isWellFormed() ? text.replaceAll('\0', '\uFFFD').toWellFormed() : text;
}

/** The row as it will be when it is read again; what is the same in the row before has been cleaned already. */
export function cleanRow(row: Row, before: Row | null | undefined): Row {
  const isClean = Object.entries(row).every(([name, cell]) => cell === before?.[name] || cleanCell(cell) === cell);
  return isClean ? row : Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, cleanCell(cell)]));
}

/** The very same cell when there is nothing to clean. */
function cleanCell(cell: Cell): Cell {
  if (typeof cell === 'string') return cleanText(cell);
  if (typeof cell !== 'object' || cell === null) return cell;
  const text = JSON.stringify(cell);
  // JSON escapes NUL and halves of a character, so text without such escapes is clean.
  if (!/\\u(0000|d[89a-f])/i.test(text)) return cell;
  return JSON.parse(text, (_name, value: unknown) => (typeof value === 'string' ? cleanText(value) : value)) as Cell;
}
