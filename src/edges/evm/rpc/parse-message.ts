import { parseBounded } from '../../../kit/bounded-json.ts';

/** JSON of a request or a batch; `idOf` gives an id as the text that is sent back, undefined where it is none. */
export type Message = Readonly<{ value: unknown; idOf: (id: unknown, request: object) => string | undefined }>;

type Reviver = (this: object, key: string, value: unknown, context: Readonly<{ source?: string }>) => unknown;

/**
 * Parses what a client sends; numbers that are ids keep their digits, however many there are.
 *
 * Fails with a SyntaxError, or with `TooComplex` where it is nested too deep or has too many values.
 */
export function parseMessage(text: string): Message {
  const value = parseBounded(text);
  const isExact = [value].flat().every((one) => !isNumber(idIn(one)) || Number.isSafeInteger(idIn(one)));
  if (isExact) return { value, idOf: (id) => (isId(id) ? JSON.stringify(id) : undefined) };
  const digits = new WeakMap<object, string>();
  const keep: Reviver = function keep(key, one, { source }) {
    if (key === 'id' && isNumber(one) && source !== undefined) digits.set(this, source);
    return one;
  };
  return {
    value: JSON.parse(text, keep as Parameters<typeof JSON.parse>[1]) as unknown,
    idOf: (id, request) => (isId(id) ? (digits.get(request) ?? JSON.stringify(id)) : undefined),
  };
}

const idIn = (one: unknown): unknown => (one !== null && typeof one === 'object' && 'id' in one ? one.id : undefined);

const isNumber = (value: unknown): value is number => typeof value === 'number';

const isId = (id: unknown): boolean => id === null || typeof id === 'string' || typeof id === 'number';
