/** A moment of a caller's request: seconds since 1970, and whether a fraction of a second follows them. */
export type Instant = Readonly<{ seconds: number; hasFraction: boolean }>;

const shape = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

/**
 * An RFC 3339 time, any offset, any fraction; undefined for everything else.
 *
 * Strict: no blank for the `T`, no missing offset, no 30th of February. A leap second counts as the second after it.
 *
 * @example parseInstant('2026-01-31T12:00:00.5+01:00') // { seconds: 1769857200, hasFraction: true }
 */
export function parseInstant(text: string): Instant | undefined {
  const match = shape.exec(text);
  if (!match) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const offsetSeconds = secondsOfOffset(match[8] ?? '');
  if (offsetSeconds === undefined || month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const midnight = new Date(0).setUTCFullYear(year, month - 1, day) / 1000;
  const seconds = midnight + hour * 3600 + minute * 60 + second - offsetSeconds;
  if (second === 60 && seconds % 86_400 !== 0) return undefined;
  return { seconds, hasFraction: /[1-9]/.test(match[7] ?? '') };
}

/** The first full second at or after a moment, as the read models write times. */
export function secondFrom({ seconds, hasFraction }: Instant): string {
  return asText(seconds + (hasFraction ? 1 : 0));
}

/** The last full second at or before a moment, as the read models write times. */
export function secondUntil({ seconds }: Instant): string {
  return asText(seconds);
}

/** Returns whether a moment is not after another. */
export function isInOrder(first: Instant, second: Instant): boolean {
  return (
    first.seconds < second.seconds || (first.seconds === second.seconds && (!first.hasFraction || second.hasFraction))
  );
}

const earliest = -62_167_219_200;
const latest = 253_402_300_799;

/** Offsets can carry a moment beyond the years that four digits hold; nothing in the read models lies there. */
function asText(seconds: number): string {
  const within = Math.min(Math.max(seconds, earliest), latest);
  return new Date(within * 1000).toISOString().replace('.000Z', 'Z');
}

function secondsOfOffset(text: string): number | undefined {
  if (/^z$/i.test(text)) return 0;
  const hours = Number(text.slice(1, 3));
  const minutes = Number(text.slice(4, 6));
  if (hours > 23 || minutes > 59) return undefined;
  return (text.startsWith('-') ? -1 : 1) * (hours * 3600 + minutes * 60);
}

function daysIn(year: number, month: number): number {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
}
