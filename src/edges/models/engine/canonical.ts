import type { Cell, ColumnType } from '../../../projections/projection.ts';

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
    text += cell === undefined || cell === null ? '-' : `=${canonicalCell(cell, type)}`;
  }
  return text;
}

/** The SQL expression that makes the same text of a stored row. */
export function canonicalSql(columns: readonly (readonly [name: string, type: ColumnType])[]): string {
  const cells = columns.map(([name, type]) => `coalesce('=' || ${cellSql(`"${name}"`, type)}, '-')`);
  return `concat_ws(E'\\x1f', ${cells.join(', ')})`;
}

/** Shortest decimal forms differ between here and there, so `float8` is compared by its bytes. */
const cellSql = (column: string, type: ColumnType): string =>
  type === 'float8' ? `encode(float8send(${column}), 'hex')` : `${column}::text`;

function canonicalCell(cell: NonNullable<Cell>, type: ColumnType): string {
  switch (type) {
    case 'jsonb':
      return jsonbText(cell);
    case 'numeric':
      return numericText(plainText(cell));
    case 'float8':
      return doubleHex(Number(cell));
    case 'text':
    case 'int4':
    case 'int8':
    case 'bool':
      return plainText(cell);
  }
}

/** A cell that is no JSON, as text. */
export function plainText(cell: NonNullable<Cell>): string {
  if (typeof cell === 'string') return cell;
  return typeof cell === 'object' ? JSON.stringify(cell) : String(cell);
}

const plainNumber = /^(?:0|-?[1-9]\d*)(?:\.\d+)?$/;

/** Decimal text without leading zeros or a sign that says nothing; PostgreSQL keeps the digits after the point as they are. */
function numericText(text: string): string {
  if (plainNumber.test(text)) return text;
  const [, sign = '', whole = '', rest = ''] = /^([+-]?)0*(\d+)(\.\d+)?$/.exec(text) ?? [];
  if (whole === '') return text;
  const isZero = /^[0.]*$/.test(whole + rest);
  return `${sign === '-' && !isZero ? '-' : ''}${whole}${rest}`;
}

const double = Buffer.alloc(8);

function doubleHex(value: number): string {
  // Zero has two signs as a double and one as text.
  double.writeDoubleBE(value === 0 ? 0 : value);
  return double.toString('hex');
}

/** JSON as `jsonb` prints it: keys by length, then bytewise; blanks after colons and commas; no exponents. */
function jsonbText(value: unknown): string {
  if (typeof value === 'string') return plainString.test(value) ? `"${value}"` : JSON.stringify(value);
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? String(value) : plainDecimal(JSON.stringify(value));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[${value.map(jsonbText).join(', ')}]`;
  const found = value as Readonly<Record<string, unknown>>;
  let members = '';
  for (const name of inOrder(Object.keys(found))) {
    const member = found[name];
    if (member !== undefined) members += `${members === '' ? '' : ', '}${jsonbText(name)}: ${jsonbText(member)}`;
  }
  return `{${members}}`;
}

/** What JSON writes as it is. */
const plainString = /^[ !#-[\]-~]*$/;

function inOrder(names: readonly string[]): string[] {
  const isPlain = names.every((name) => plainString.test(name));
  return names.toSorted(isPlain ? byLength : byBytes);
}

const byLength = (a: string, b: string): number => a.length - b.length || (a < b ? -1 : 1);

function byBytes(one: string, other: string): number {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length - b.length || Buffer.compare(a, b);
}

function plainDecimal(text: string): string {
  const [, sign = '', first = '', rest = '', power = ''] = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(text) ?? [];
  if (first === '') return text;
  const shift = Number(power);
  if (shift < 0) return `${sign}0.${'0'.repeat(-shift - 1)}${first}${rest}`;
  return `${sign}${first}${rest.padEnd(shift, '0')}`;
}
