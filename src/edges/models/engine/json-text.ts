/** JSON as `jsonb` prints it: keys by length, then bytewise; blanks after colons and commas; no exponents. */
export function jsonText(value: unknown): string {
  if (typeof value === 'string') return plainString.test(value) ? `"${value}"` : JSON.stringify(value);
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? String(value) : plainDecimal(JSON.stringify(value));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[${value.map(jsonText).join(', ')}]`;
  const found = value as Readonly<Record<string, unknown>>;
  let members = '';
  for (const name of inOrder(Object.keys(found))) {
    const member = found[name];
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
