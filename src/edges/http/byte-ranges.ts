/** Bytes of a body from `first` to `last`, both included. */
export type ByteRange = Readonly<{ first: number; last: number }>;

/** The result of a `Range`: all of the body, parts of it, or none, since no byte of it exists. */
export type RequestedRanges = 'whole' | 'unsatisfiable' | readonly ByteRange[];

/** Beyond this number of ranges the complete body is sent. */
const mostRanges = 8;

/**
 * The ranges that a `Range` header requests of a body of `size` bytes (RFC 9110, 14.1.2).
 *
 * An ill-formed one, one of another unit and one with more than eight ranges count as none, and so do ranges of more
 * bytes together than the body has: those that overlap would have the same bytes sent again and again. Ranges beyond
 * the end are dropped; where none is left, the result is `unsatisfiable`.
 *
 * @example rangesOf('bytes=-500', 10_000) // [{ first: 9500, last: 9999 }]
 */
export function rangesOf(header: string | undefined, size: number): RequestedRanges {
  const list = /^bytes=(.*)$/i.exec(header?.trim() ?? '')?.[1];
  if (list === undefined) return 'whole';
  const specs = list
    .split(',')
    .map((spec) => spec.trim())
    .filter((spec) => spec !== '');
  if (specs.length === 0 || specs.length > mostRanges || !specs.every(isWellFormed)) return 'whole';
  // The last bytes of nothing are all of it, and no range can name them.
  if (size === 0 && specs.some((spec) => /^-\d*[1-9]/.test(spec))) return 'whole';
  const ranges = specs.flatMap((spec) => rangeOf(spec, size));
  if (ranges.length === 0) return 'unsatisfiable';
  return ranges.reduce((bytes, { first, last }) => bytes + last - first + 1, 0) > size ? 'whole' : ranges;
}

function isWellFormed(spec: string): boolean {
  const [, first = '', last = ''] = /^(\d*)-(\d*)$/.exec(spec) ?? [];
  if (first === '') return last !== '';
  return last === '' || Number(first) <= Number(last);
}

function rangeOf(spec: string, size: number): ByteRange[] {
  const [from = '', to = ''] = spec.split('-');
  const first = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const last = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  return first > last ? [] : [{ first, last }];
}
