import fc from 'fast-check';
import type { DocumentSchema, Operation, Parameter } from './document.ts';

/** A request of an operation. */
export type ContractRequest = Readonly<{
  method: string;
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
}>;

/** Values that a network has, by the name of their parameter or field: most requests name something that there is. */
export type KnownValues = Readonly<Record<string, readonly [unknown, ...unknown[]] | undefined>>;

/** Requests that fit the document. */
export function fittingRequests(operation: Operation, known: KnownValues): fc.Arbitrary<ContractRequest> {
  const parts = fc.record({
    parameters: fc.tuple(...operation.parameters.map((one) => fittingParameter(one, known))),
    body: operation.body
      ? fittingValue(operation.body, known).map((one) => JSON.stringify(one))
      : fc.constant(undefined),
  });
  return parts.map(({ parameters, body }) => requestOf(operation, parameters, body));
}

/** Requests of which something does not fit: a parameter, a body, or all of them. */
export function hostileRequests(operation: Operation, known: KnownValues): fc.Arbitrary<ContractRequest> {
  const parts = fc.record({
    parameters: fc.tuple(
      ...operation.parameters.map((one) => fc.oneof(fittingParameter(one, known), hostileParameter(one))),
    ),
    body: operation.body ? hostileBody(operation.body, known) : fc.constantFrom(undefined, '', '{}', '[', 'null'),
  });
  return parts.map(({ parameters, body }) => requestOf(operation, parameters, body));
}

type Filled = Readonly<{ parameter: Parameter; value: string | undefined }>;

function requestOf(operation: Operation, filled: readonly Filled[], body: string | undefined): ContractRequest {
  const { method } = operation;
  let { path } = operation;
  const query = new URLSearchParams();
  // Nothing is waited for, and the answer does not depend on when it was requested.
  const headers: Record<string, string> = { prefer: 'wait=0' };
  for (const { parameter, value } of filled) {
    if (value === undefined) continue;
    if (parameter.in === 'path') path = path.replace(`{${parameter.name}}`, encodeURIComponent(value));
    else if (parameter.in === 'query') query.append(parameter.name, value);
    else if (parameter.name !== 'Prefer') headers[parameter.name.toLowerCase()] = value;
  }
  const search = query.size === 0 ? '' : `?${query.toString()}`;
  if (body !== undefined) headers['content-type'] = 'application/json';
  return { method, path: path + search, headers, ...(body !== undefined && { body }) };
}

function fittingParameter(parameter: Parameter, known: KnownValues): fc.Arbitrary<Filled> {
  const value = fittingValue(parameter.schema, known, parameter.name).map(String);
  const isWanted = parameter.in === 'path' || parameter.required === true;
  return (isWanted ? value : fc.option(value, { nil: undefined, freq: 2 })).map((one) => ({ parameter, value: one }));
}

function hostileParameter(parameter: Parameter): fc.Arbitrary<Filled> {
  const values = parameter.in === 'header' ? fc.constantFrom(...uglyHeaders) : ugly;
  return values.map((value) => ({ parameter, value }));
}

/** A value that a schema accepts. */
function fittingValue(schema: DocumentSchema, known: KnownValues, name = ''): fc.Arbitrary<unknown> {
  const samples = known[name];
  if (samples && schema.format !== 'date-time') return fc.constantFrom(...samples);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.type === 'boolean') return fc.boolean();
  if (schema.type === 'integer' || schema.type === 'number') return fittingNumber(schema);
  if (schema.type === 'object') return fittingObject(schema, known);
  if (schema.type === 'array') {
    const { items = {}, minItems: minLength = 0, maxItems = 3 } = schema;
    return fc.array(fittingValue(items, known, name), { minLength, maxLength: Math.min(maxItems, 3) });
  }
  return schema.format === 'date-time' ? fc.constantFrom(...instants) : fittingText(schema);
}

function fittingNumber({ minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: DocumentSchema): fc.Arbitrary<number> {
  return fc.oneof(
    fc.constantFrom(minimum, maximum),
    fc.integer({ min: minimum, max: Math.min(maximum, minimum + 50) }),
  );
}

function fittingText({ pattern, minLength = 1, maxLength = 40 }: DocumentSchema): fc.Arbitrary<string> {
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern), { size: 'medium' });
  const unit = fc.constantFrom(...'abcXYZ0189-_.:'.split(''));
  return fc.string({ unit, minLength, maxLength: Math.min(maxLength, 40) });
}

function fittingObject({ properties = {}, required = [] }: DocumentSchema, known: KnownValues): fc.Arbitrary<unknown> {
  const fields = Object.entries(properties).map(([name, one]) => [name, fittingValue(one, known, name)] as const);
  return fc.record(Object.fromEntries(fields), { requiredKeys: [...required] });
}

function hostileBody(schema: DocumentSchema, known: KnownValues): fc.Arbitrary<string> {
  const names = Object.keys(schema.properties ?? {});
  const field = fc.tuple(fc.constantFrom(...names, '__proto__', 'more'), fc.jsonValue({ maxDepth: 2 }));
  const changed = fc
    .tuple(fittingValue(schema, known), field)
    .map(([fitting, [name, value]]) => `{${JSON.stringify(name)}:${JSON.stringify(value)},${rest(fitting)}`);
  return fc.oneof(
    fc.constantFrom(...uglyBodies),
    fc.jsonValue({ maxDepth: 3 }).map((one) => JSON.stringify(one)),
    changed,
  );
}

/** The text of an object after its opening brace, so that a field of any name may stand before it. */
const rest = (value: unknown): string => {
  const text = JSON.stringify(value).slice(1);
  return text === '}' ? '"more":1}' : text;
};

const instants = ['2000-01-01T00:00:00Z', '2026-01-01T00:00:00+01:00', '2026-11-24T12:00:00.123456789Z'] as const;
const uglyBodies = [
  '',
  '{',
  'null',
  '[]',
  '""',
  '{"__proto__":null}',
  `[${'['.repeat(500)}`,
  '\u{0}',
  '1e999',
] as const;
const uglyHeaders = ['', ',', '"', 'W/"', '*', '-1', 'a;b=c;;', 'x'.repeat(300), 'NaN', '%00', "';--"] as const;
const ugly = fc.oneof(
  fc.constantFrom(
    '',
    '\0',
    '-0',
    '-1',
    '1e9',
    '9223372036854775808',
    'NaN',
    'null',
    '../../..',
    "';--",
    '{}',
    '%',
    '😀',
  ),
  fc.constantFrom('0000-01-01T00:00:00+23:59', '9999-12-31T23:59:60Z', 'ACTIONS:', 'ACTIONS:-1', 'NOTHING:1', '1.5'),
  fc.string({ unit: 'grapheme-composite', minLength: 1, maxLength: 40 }).map((text) => text.toWellFormed()),
  fc.bigInt().map(String),
);
