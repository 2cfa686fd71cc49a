/** A value of a type that a node's answer must not have. */
export class Malformed extends Error {}

const maxTextLength = 256;
const unprintable = /\p{Cc}/u;

/** An object's members. */
export function record(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Malformed();
  return value as Readonly<Record<string, unknown>>;
}

/** A list of at most so many items. */
export function list(value: unknown, maxItems: number): readonly unknown[] {
  if (!Array.isArray(value) || value.length > maxItems) throw new Malformed();
  return value;
}

/** A short text that can be stored and shown anywhere: no control characters, no halves of characters. */
export function nodeText(value: unknown): string {
  if (typeof value !== 'string' || value.length > maxTextLength || unprintable.test(value) || !value.isWellFormed())
    throw new Malformed();
  return value;
}

/**
 * A number, or text of one as protobuf JSON allows; undefined where it is absent, negative, no number or above `max`.
 */
export function numberIn(value: unknown, max: number = Number.MAX_SAFE_INTEGER): number | undefined {
  if (value === undefined || value === null) return undefined;
  const isText =
    typeof value === 'string' && /^(?:-?\d{1,40}(?:\.\d{1,40})?(?:e[+-]?\d{1,3})?|NaN|-?Infinity)$/i.test(value);
  if (!isText && typeof value !== 'number') throw new Malformed();
  const number = Number(value);
  return number >= 0 && number <= max ? number : undefined;
}

/** The same for a whole number; one with a fraction is malformed. */
export function wholeIn(value: unknown, max?: number): number | undefined {
  const number = numberIn(value, max);
  if (number !== undefined && !Number.isInteger(number)) throw new Malformed();
  return number;
}
