import { bech32 } from '@scure/base';

/** A part of an answer that cannot be what it should be; the record that it is in is left out, the others are not. */
export class BadRecord extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'BadRecord';
  }
}

type JsonObject = Readonly<Record<string, unknown>>;

const longestText = 1024;
/** Entries of a list within one record; the part of a record that the log repeats has to fit in one event. */
const mostEntries = 1_000;
const greatestUint32 = 4_294_967_295;
const lastSecond = 253_402_300_799;

/** The value as a JSON object, if it is one. */
export function asObject(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A list of JSON objects; the chain writes an empty one as null now and then. */
export function objects(value: unknown, field: string): readonly JsonObject[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new BadRecord(`${field} is no list`);
  return value.map((item: unknown) => {
    if (!isObject(item)) throw new BadRecord(`${field} holds something that is no object`);
    return item;
  });
}

/**
 * Free text, as it may be shown and stored: U+0000 and halves of characters become U+FFFD, more than 1,024 characters
 * are cut.
 *
 * Absent text is empty.
 */
export function freeText(value: unknown, field: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw new BadRecord(`${field} is no text`);
  return value.slice(0, longestText).replaceAll('\0', '\uFFFD').toWellFormed();
}

/** A list within a record as it is, unless it is longer than any real one. */
export function shortList<T>(list: readonly T[], field: string): readonly T[] {
  if (list.length > mostEntries) throw new BadRecord(`${field} has more than ${mostEntries} entries`);
  return list;
}

/** A height: decimal text or a number, 32 bits. */
export function height(value: unknown, field: string): number {
  const text = typeof value === 'number' ? String(value) : value;
  const n = typeof text === 'string' && /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(n <= greatestUint32)) throw new BadRecord(`${field} is no height`);
  return n;
}

/** A height of which 0 means that there is none. */
export function optionalHeight(value: unknown, field: string): number | undefined {
  return value === undefined || value === null ? undefined : height(value, field) || undefined;
}

/** A count of any size in decimal text; what exceeds 32 bits is held at their greatest value. */
export function cappedCount(value: unknown, field: string): number {
  const text = typeof value === 'number' ? String(value) : (value ?? '0');
  if (typeof text !== 'string' || !/^\d{1,78}$/.test(text)) throw new BadRecord(`${field} is no whole number`);
  return Math.min(Number(text), greatestUint32);
}

/** Returns whether a text is an action's id: decimal, of any size, without leading zeros. */
export function isActionId(value: unknown): value is string {
  return typeof value === 'string' && /^[1-9]\d{0,77}$/.test(value);
}

/** A Bech32 address of one prefix, with a right checksum. */
export function address(value: unknown, prefix: string, field: string): string {
  const decoded = typeof value === 'string' && value.length <= 128 ? bech32.decodeUnsafe(value, 128) : undefined;
  if (typeof value !== 'string' || decoded?.prefix !== prefix || value !== value.toLowerCase())
    throw new BadRecord(`${field} is no address of ${prefix}`);
  return value;
}

/** An enum by its name or its number, as the word after the prefix in lower case. */
export function enumWord<const Words extends readonly string[]>(
  value: unknown,
  prefix: string,
  words: Words,
): Words[number] {
  const match: Words[number] | undefined =
    typeof value === 'number' ? words[value - 1] : words.find((word) => value === `${prefix}${word.toUpperCase()}`);
  if (match === undefined) throw new BadRecord(`${prefix}… is none of the known words`);
  return match;
}

/** Unix seconds as RFC 3339, UTC; absent where there are none or the year has more than four digits. */
export function timeOfSeconds(value: unknown, field: string): string | undefined {
  const text = typeof value === 'number' ? String(value) : (value ?? '0');
  if (typeof text !== 'string' || !/^-?\d{1,20}$/.test(text)) throw new BadRecord(`${field} is no time`);
  const seconds = Number(text);
  return seconds <= 0 || seconds > lastSecond ? undefined : toSecond(new Date(seconds * 1000));
}

/** RFC 3339 to the second, UTC; absent where the text is no time. */
export function timeOfText(value: unknown): string | undefined {
  const isTime =
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/.test(value);
  const date = isTime ? new Date(value) : undefined;
  return date === undefined || Number.isNaN(date.getTime()) ? undefined : toSecond(date);
}

function toSecond(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/** Coins in one text, such as `12ulume,3uatom`; amounts are of any size. */
export function coins(value: unknown, field: string): readonly { denom: string; amount: string }[] {
  if (value === '') return [];
  if (typeof value !== 'string' || value.length > 10_000) throw new BadRecord(`${field} is no amount`);
  return value.split(',').map((one) => {
    const [, amount, denom] = /^(\d{1,78})([a-zA-Z][a-zA-Z0-9/:._-]{1,127})$/.exec(one.trim()) ?? [];
    if (amount === undefined || denom === undefined) throw new BadRecord(`${field} is no amount`);
    return { denom, amount: amount.replace(/^0+(?=\d)/, '') };
  });
}

/** One coin, as text or as an object; absent where the field is. */
export function coin(value: unknown, field: string): { denom: string; amount: string } | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const object = asObject(value);
  const [first, second] = coins(object ? `${String(object['amount'])}${String(object['denom'])}` : value, field);
  if (first === undefined || second !== undefined) throw new BadRecord(`${field} is not one amount`);
  return first;
}

/** Runs a parser; what it refuses comes back as the reason. */
export function attempt<T>(parse: () => T): { value: T } | { reason: string } {
  try {
    return { value: parse() };
  } catch (caught) {
    if (caught instanceof BadRecord) return { reason: caught.message };
    throw caught;
  }
}
