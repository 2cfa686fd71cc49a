import type { Cell } from '../../../projections/columns.ts';

type Row = Readonly<Record<string, Cell>>;

/** PostgreSQL takes no NUL in text, and no half of a character: both become the replacement character. */
export function cleanText(text: string): string {
  return text.includes('\0') || !text.isWellFormed() ? text.replaceAll('\0', '\uFFFD').toWellFormed() : text;
}

/** The row as it will be when it is read again; what is the same in the row before has been cleaned already. */
export function cleanRow(row: Row, before: Row | null | undefined): Row {
  for (const name in row) if (row[name] !== before?.[name] && !isClean(row[name])) return cleaned(row);
  return row;
}

function isClean(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (!isClean(item)) return false;
    return true;
  }
  const members: Readonly<Record<string, unknown>> = { ...value };
  for (const name in members) if (!isClean(name) || !isClean(members[name])) return false;
  return true;
}

function cleaned(row: Row): Row {
  return Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, cleanCell(cell)]));
}

function cleanCell<T>(cell: T): T;
function cleanCell(cell: unknown): unknown {
  if (typeof cell === 'string') return cleanText(cell);
  if (typeof cell !== 'object' || cell === null) return cell;
  if (Array.isArray(cell)) return cell.map(cleanCell);
  return Object.fromEntries(Object.entries(cell).map(([name, member]) => [cleanText(name), cleanCell(member)]));
}
