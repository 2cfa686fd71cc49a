const quote = 0x22;
const backslash = 0x5c;
const opening: readonly number[] = [0x5b, 0x7b];
const closing: readonly number[] = [0x5d, 0x7d];
const comma = 0x2c;

/** What JSON from outside may be: how deep, and of how many values. */
export type JsonBounds = Readonly<{ depth: number; values: number }>;

const usual: JsonBounds = { depth: 64, values: 1_000_000 };

/** JSON whose shape alone would cost more than it may. */
export class TooComplex extends Error {}

/**
 * Parses JSON from outside; one that is nested too deep or has too many values fails with `TooComplex` before it is
 * parsed.
 *
 * A few megabytes of brackets otherwise take seconds of the one thread that there is, or a hundred times their size.
 *
 * @example parseBounded('{"a":[1]}') // { a: [1] }
 */
export function parseBounded(text: string, { depth, values }: JsonBounds = usual): unknown {
  let level = 0;
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfText(text, at);
    else if (closing.includes(code)) level -= 1;
    else if (opening.includes(code)) {
      level += 1;
      count += 1;
    } else if (code === comma) count += 1;
    if (level > depth || count > values) throw new TooComplex('JSON that is nested too deep or has too many values');
  }
  return JSON.parse(text) as unknown;
}

/** Offset of the quote that ends the text which starts at `begin`; beyond the end where no quote follows. */
function endOfText(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1;
  return at;
}
