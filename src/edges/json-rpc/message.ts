import type { IncomingMessage } from 'node:http';
import { type JsonBounds, parseBounded } from '../../kit/bounded-json.ts';

/** JSON of a request or a batch. */
export type RpcMessage = Readonly<{
  value: unknown;
  /** The id of a request in it as the text that is sent back: null where it has none, undefined where it is none. */
  idOf: (request: unknown) => string | undefined;
}>;

type Reviver = (this: object, key: string, value: unknown, context: Readonly<{ source?: string }>) => unknown;

const bodyTypes: readonly string[] = ['application/json', 'application/json-rpc', 'application/jsonrequest'];

/**
 * Returns whether the headers declare a body of JSON, in the forms that geth accepts: a page needs permission to send
 * any of them.
 */
export function isJson({ headers }: IncomingMessage): boolean {
  const [type = ''] = (headers['content-type'] ?? '').split(';', 1);
  return bodyTypes.includes(type.trim().toLowerCase());
}

/**
 * Parses what a client sends; numbers that are ids keep their digits, however many there are.
 *
 * Fails with a SyntaxError, or with `TooComplex` where it is nested too deep or has too many values.
 */
export function parseMessage(text: string, bounds?: JsonBounds): RpcMessage {
  const value = parseBounded(text, bounds);
  const isExact = [value].flat().every((one) => !isNumber(idIn(one)) || Number.isSafeInteger(idIn(one)));
  if (isExact) return { value, idOf: (request) => idText(request) };
  const digits = new WeakMap<object, string>();
  const keep: Reviver = function keep(key, one, { source }) {
    if (key === 'id' && isNumber(one) && source !== undefined) digits.set(this, source);
    return one;
  };
  return {
    value: JSON.parse(text, keep as Parameters<typeof JSON.parse>[1]) as unknown,
    idOf: (request) => (hasId(request) && isNumber(request.id) && digits.get(request)) || idText(request),
  };
}

function idText(request: unknown): string | undefined {
  if (!hasId(request)) return 'null';
  const { id } = request;
  return id === null || typeof id === 'string' || isNumber(id) ? JSON.stringify(id) : undefined;
}

const hasId = (one: unknown): one is object & Readonly<{ id: unknown }> =>
  one !== null && typeof one === 'object' && !Array.isArray(one) && 'id' in one;

const idIn = (one: unknown): unknown => (hasId(one) ? one.id : undefined);

const isNumber = (value: unknown): value is number => typeof value === 'number';
