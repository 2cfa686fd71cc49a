import type { Cell, ColumnType } from '../../../projections/columns.ts';
import { typeOf } from '../column-types.ts';

/** Between the cells of a row; text that holds it could only make two different rows look alike, never equal ones unlike. */
const between = '\u001f';

/**
 * A row as one text, the same that PostgreSQL makes of it when it is stored (`canonicalSql`).
 *
 * @example canonicalRow([['id', 'text'], ['n', 'int8']], { id: 'a', n: null }) // '=a\u001f-'
 */
export function canonicalRow(
  columns: readonly (readonly [name: string, type: ColumnType])[],
  row: Readonly<Record<string, Cell | undefined>>,
): string {
  let text = '';
  for (const [name, type] of columns) {
    if (text !== '') text += between;
    const cell = row[name];
    text += cell === undefined || cell === null ? '-' : `=${typeOf(type).canonical(cell)}`;
  }
  return text;
}

/** The SQL expression that makes the same text of a stored row. */
export function canonicalSql(columns: readonly (readonly [name: string, type: ColumnType])[]): string {
  const cells = columns.map(([name, type]) => `coalesce('=' || ${typeOf(type).canonicalSql(`"${name}"`)}, '-')`);
  return `concat_ws(E'\\x1f', ${cells.join(', ')})`;
}
