import pg from 'pg';
import type { Cell, ColumnType } from '../../projections/columns.ts';

type Content = NonNullable<Cell>;

/**
 * How cells of one column type are defined, written, compared and read.
 *
 * - `sql`: the type where a value is cast to it; `collate` is added where a column is made.
 * - `array`: the type of the elements in which cells travel as a parameter, one array a column.
 * - `text`: a cell as PostgreSQL reads it, in such an array or in COPY; what these escape is theirs.
 * - `canonical`: a cell as one text for equal cells, the same that the expression `canonicalSql` makes of a stored one.
 * - `parse`: reads what PostgreSQL answers, by the type's number there; absent where the driver's own does.
 */
type ColumnTypeEntry = Readonly<{
  sql: string;
  collate?: string;
  array: string;
  text: (cell: Content) => string;
  canonical: (cell: Content) => string;
  canonicalSql: (column: string) => string;
  parse?: Readonly<{ oid: number; read: (text: string) => unknown }>;
}>;

const { INT8, NUMERIC, BYTEA } = pg.types.builtins;
const asText = (text: string): string => text;
const castToText = (column: string): string => `${column}::text`;

function plainText(cell: Content): string {
  if (typeof cell === 'string') return cell;
  return typeof cell === 'object' ? JSON.stringify(cell) : String(cell);
}

const plain = { text: plainText, canonical: plainText, canonicalSql: castToText };
const decimal = {
  text: plainText,
  canonical: (cell: Content): string => decimalText(plainText(cell)),
  canonicalSql: castToText,
  parse: { oid: NUMERIC, read: asText },
};
/** Bytes in PostgreSQL's form: digits behind `\\x` instead of `0x`. */
const bytesText = (cell: Content): string => `\\x${plainText(cell).slice(2)}`;

/** Every type that a column of a read model can have; a new one is a line here and one in `CellTypes`. */
export const columnTypes = {
  text: { ...plain, sql: 'text', collate: '"C"', array: 'text' },
  int4: { ...plain, sql: 'int4', array: 'int4' },
  int8: { ...plain, sql: 'int8', array: 'int8', parse: { oid: INT8, read: Number } },
  bool: { ...plain, sql: 'bool', array: 'bool' },
  numeric: { ...decimal, sql: 'numeric', array: 'numeric' },
  uint256: { ...decimal, sql: 'numeric(78,0)', array: 'numeric' },
  float8: {
    sql: 'float8',
    array: 'float8',
    text: plainText,
    // Shortest decimal forms differ between here and there, so it is compared by its bytes.
    canonical: (cell) => doubleHex(Number(cell)),
    canonicalSql: (column) => `encode(float8send(${column}), 'hex')`,
  },
  bytea: {
    sql: 'bytea',
    array: 'bytea',
    text: bytesText,
    canonical: bytesText,
    // Not a cast to text, which depends on a setting.
    canonicalSql: (column) => `'\\x' || encode(${column}, 'hex')`,
    parse: { oid: BYTEA, read: (text) => `0x${text.slice(2)}` },
  },
  jsonb: {
    sql: 'jsonb',
    array: 'text',
    text: (cell) => JSON.stringify(cell),
    canonical: jsonText,
    canonicalSql: castToText,
  },
} as const satisfies Record<ColumnType, ColumnTypeEntry>;

/** The entry of a column type. */
export const typeOf = (type: ColumnType): ColumnTypeEntry => columnTypes[type];

/** What reads PostgreSQL's answers, by the number of the type, where the driver's own does not do. */
export const parsersByOid: ReadonlyMap<number, (text: string) => unknown> = new Map(
  Object.values<ColumnTypeEntry>(columnTypes).flatMap(({ parse }) => (parse ? [[parse.oid, parse.read]] : [])),
);

const plainNumber = /^(?:0|-?[1-9]\d*)(?:\.\d+)?$/;

/** Decimal text without leading zeros or a redundant sign; PostgreSQL keeps the digits after the point as they are. */
function decimalText(text: string): string {
  if (plainNumber.test(text)) return text;
  const [, sign = '', complete = '', rest = ''] = /^([+-]?)0*(\d+)(\.\d+)?$/.exec(text) ?? [];
  if (complete === '') return text;
  const isZero = /^[0.]*$/.test(complete + rest);
  return `${sign === '-' && !isZero ? '-' : ''}${complete}${rest}`;
}

const double = Buffer.alloc(8);

function doubleHex(value: number): string {
  // Zero has two signs as a double and one as text.
  double.writeDoubleBE(value === 0 ? 0 : value);
  return double.toString('hex');
}

/** JSON as `jsonb` prints it: keys by length, then bytewise; blanks after colons and commas; no exponents. */
function jsonText(value: unknown): string {
  if (typeof value === 'string') return plainString.test(value) ? `"${value}"` : JSON.stringify(value);
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? String(value) : plainDecimal(JSON.stringify(value));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[${value.map(jsonText).join(', ')}]`;
  const match = value as Readonly<Record<string, unknown>>;
  let members = '';
  for (const name of inOrder(Object.keys(match))) {
    const member = match[name];
    if (member !== undefined) members += `${members === '' ? '' : ', '}${jsonText(name)}: ${jsonText(member)}`;
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
