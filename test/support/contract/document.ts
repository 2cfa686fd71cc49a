import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';

type Json = Readonly<Record<string, unknown>>;

/** A schema of OpenAPI 3.0, as far as documents use it. */
export type DocumentSchema = Readonly<{
  type?: string;
  format?: string;
  pattern?: string;
  enum?: readonly string[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  items?: DocumentSchema;
  properties?: Readonly<Record<string, DocumentSchema>>;
  required?: readonly string[];
  additionalProperties?: unknown;
}>;

/** A parameter of an operation. */
export type Parameter = Readonly<{
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  schema: DocumentSchema;
}>;

type DocumentedAnswer = Readonly<{ content?: Readonly<Record<string, { schema: Json }>> }>;

/** One operation of a document, and what its answers have to be. */
export type Operation = Readonly<{
  id: string;
  method: string;
  path: string;
  parameters: readonly Parameter[];
  body: DocumentSchema | undefined;
  /** What is wrong with an answer, as a sentence; undefined where it is a documented one. */
  judge: (answer: ContractAnswer) => string | undefined;
}>;

/** An answer, as far as a document describes it; `text` is undefined where it goes on for as long as it is read. */
export type ContractAnswer = Readonly<{ status: number; contentType: string; text: string | undefined }>;

/** Every operation of an OpenAPI document. */
export function operationsIn(document: Json): Operation[] {
  const { components, paths } = document as Readonly<{
    components: Readonly<{ schemas: Json }>;
    paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  }>;
  const inlined = (schema: unknown): unknown => inline(schema, components.schemas);
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => ({
      id: one.operationId,
      method: method.toUpperCase(),
      path,
      parameters: one.parameters ?? [],
      body: inlined(one.requestBody?.content['application/json']?.schema) as DocumentSchema | undefined,
      judge: judgeOf(one.responses, inlined),
    })),
  );
}

type DocumentedOperation = Readonly<{
  operationId: string;
  parameters?: readonly Parameter[];
  requestBody?: Readonly<{ content: Readonly<Record<string, { schema: Json } | undefined>> }>;
  responses: Readonly<Record<string, DocumentedAnswer>>;
}>;

/**
 * A schema of OpenAPI 3.0 as JSON Schema: references inlined, `nullable` as a second type. An object has no field but
 * those that are described, unless its schema allows others.
 */
function inline(schema: unknown, components: Json): unknown {
  if (Array.isArray(schema)) return schema.map((one) => inline(one, components));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { nullable, $ref, ...others } = schema as Json;
  if (typeof $ref === 'string') return inline(components[$ref.replace('#/components/schemas/', '')], components);
  const plain = Object.fromEntries(Object.entries(others).map(([name, value]) => [name, inline(value, components)]));
  const strict =
    'properties' in plain && plain['type'] === 'object' ? { additionalProperties: false, ...plain } : plain;
  return nullable === true ? { anyOf: [strict, { type: 'null' }] } : strict;
}

function judgeOf(
  responses: Readonly<Record<string, DocumentedAnswer>>,
  inlined: (schema: unknown) => unknown,
): Operation['judge'] {
  const validators = new Map<string, ValidateFunction>();
  const validatorOf = (key: string, schema: unknown): ValidateFunction => {
    const made = validators.get(key) ?? ajv.compile(inlined(schema) as Json);
    validators.set(key, made);
    return made;
  };
  return ({ status, contentType, text }) => {
    const documented = responses[String(status)];
    if (!documented) return `${status} is not documented`;
    const type = contentType.split(';')[0] ?? '';
    const { content = {} } = documented;
    if (Object.keys(content).length === 0) return text === '' ? undefined : `${status} has a body`;
    const described = content[type];
    if (!described) return `${status} is ${type === '' ? 'of no type' : type}`;
    if (!type.endsWith('json') || text === undefined) return undefined;
    const validate = validatorOf(`${status} ${type}`, described.schema);
    return validate(JSON.parse(text)) ? undefined : `${status}: ${ajv.errorsText(validate.errors)}: ${text}`;
  };
}

const ajv = new Ajv({ strict: false, allErrors: true });
addFormats.default(ajv);
