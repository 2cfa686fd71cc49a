import type { TSchema } from 'typebox';
import { AppError } from '../../kit/errors.ts';
import { type Instant, parseInstant } from './instant.ts';

/** The part of JSON Schema that parameters use: enough to read a text, and to describe in words what is accepted. */
type ParameterSchema = Readonly<{
  type?: string;
  format?: string;
  enum?: readonly string[];
  minimum?: number;
  maximum?: number;
  default?: unknown;
}>;

/** A reader of one parameter: the value, or undefined where the text does not fit; and what fits, in words. */
type Accepts = Readonly<{ read: (text: string) => Value | undefined; what: string }>;
type Value = string | number | boolean | Instant;

const booleans: Readonly<Record<string, boolean>> = { true: true, false: false, 1: true, 0: false };

/**
 * A reader of a query string, made from the schema that also makes its types and its documentation.
 *
 * Strict: a parameter that is repeated, left empty, out of range or not one of the listed words is `INVALID_ARGUMENT`,
 * naming the parameter and what is accepted. Unknown parameters are dropped, defaults filled in.
 */
export function queryReader(
  schema: unknown,
): (input: unknown) => { value: Record<string, unknown> } | { error: AppError } {
  const parameters = Object.entries(propertiesOf(schema)).map(([name, property]) => ({
    name,
    property,
    accepts: acceptsOf(property),
  }));
  return (options) => {
    const query = isRecord(options) ? options : {};
    const value: Record<string, unknown> = {};
    for (const { name, property, accepts } of parameters) {
      const read = readOne(query[name], accepts);
      if (read === undefined) return { error: refusal(name, query[name], accepts.what) };
      value[name] = read === absent ? property.default : read;
    }
    return { value };
  };
}

/** Refuses a lower bound above its upper bound. */
export function requireOrder(lower: string, upper: string, isInOrder: boolean): void {
  if (!isInOrder)
    throw new AppError(
      'INVALID_ARGUMENT',
      `${lower} is above ${upper}; nothing can lie between them. Exchange them or leave one out.`,
    );
}

const absent = Symbol('absent');

function readOne(values: unknown, accepts: Accepts): Value | typeof absent | undefined {
  if (values === undefined) return absent;
  return typeof values === 'string' && values !== '' ? accepts.read(values) : undefined;
}

function refusal(name: string, given: unknown, what: string): AppError {
  const match =
    typeof given !== 'string' ? 'is given more than once' : given === '' ? 'is empty' : `is ${shown(given)}`;
  return new AppError(
    'INVALID_ARGUMENT',
    `${name} ${match}; it takes ${what}${typeof given === 'string' ? '' : ', once'}.`,
  );
}

/** The caller's text, short enough to send back. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}

function acceptsOf({
  type,
  format,
  enum: list,
  minimum = 0,
  maximum = Number.MAX_SAFE_INTEGER,
}: ParameterSchema): Accepts {
  if (list) return { read: (text) => (list.includes(text) ? text : undefined), what: `one of ${list.join(', ')}` };
  if (type === 'boolean')
    return {
      read: (text) => (Object.hasOwn(booleans, text) ? booleans[text] : undefined),
      what: 'true, false, 1 or 0',
    };
  if (type === 'integer')
    return {
      read: (text) => wholeNumber(text, minimum, maximum),
      what: `a whole number from ${minimum} to ${maximum}`,
    };
  if (format === 'date-time')
    return {
      read: parseInstant,
      what: 'an RFC 3339 time such as 2026-01-31T12:00:00Z (a + in the offset is written %2B)',
    };
  return { read: (text) => (text.includes('\0') ? undefined : text), what: 'a text without control characters' };
}

function wholeNumber(text: string, minimum: number, maximum: number): number | undefined {
  const n = Number(text);
  return /^-?\d{1,16}$/.test(text) && n >= minimum && n <= maximum ? n : undefined;
}

function propertiesOf(schema: unknown): Record<string, ParameterSchema & TSchema> {
  return isRecord(schema) && isRecord(schema.properties)
    ? (schema.properties as Record<string, ParameterSchema & TSchema>)
    : {};
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
