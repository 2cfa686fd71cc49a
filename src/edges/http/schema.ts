import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, FastifyTypeProvider, RawServerDefault } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import { errorCodes } from '../../kit/errors.ts';
import type { Instant } from './instant.ts';

/** One of a few words. */
export function words<const T extends string>(list: readonly T[], options: { description?: string } = {}) {
  return Type.Unsafe<T>({ type: 'string', enum: [...list], ...options });
}

/** A text of the read models that is one of a few words; documented as such, and trusted. */
export function wordOf(list: readonly string[], description: string) {
  return Type.Unsafe<string>({ type: 'string', enum: [...list], description });
}

/** A value that may be null; OpenAPI 3.0 has no null type, only this mark. */
export function nullable<T extends TSchema>(schema: T) {
  return Type.Unsafe<Static<T> | null>({ ...schema, nullable: true });
}

/** A component of the OpenAPI document, referred to by its name wherever it is used. */
export function component<T extends TSchema>(name: string, schema: T) {
  return { name, schema: { $id: name, ...schema }, ref: Type.Unsafe<Static<T>>({ $ref: `${name}#` }) };
}

/** A component of any shape. */
export type Component = Readonly<{ name: string; schema: object }>;

/** RFC 3339, UTC, to the second. */
export const time = (description: string) => Type.String({ format: 'date-time', description });

const errorBody = component(
  'Error',
  Type.Object(
    {
      error: Type.String({ description: 'A sentence that says what is wrong and what to do.' }),
      code: words(errorCodes, { description: 'Stable; decide by this one.' }),
    },
    { description: 'What every refusal looks like.' },
  ),
);

/** The components that every route may refer to. */
export const sharedComponents: readonly Component[] = [errorBody];

const refusals = {
  400: 'A parameter does not parse, is out of range, given twice, empty or not one of the listed values; or the cursor is foreign. Instants have codes of their own: `INVALID_INSTANT`, `NOT_YET`, `BEYOND_HEAD`, `FOREIGN_POSITION`, and `OTHER_INSTANT` for a cursor of another one.',
  401: 'The bearer token is missing or wrong.',
  403: 'This instance does not allow it.',
  404: 'No such thing, or the id in the path is ill-formed.',
  405: 'The path does not take the method; `Allow` says which it takes.',
  408: 'The body came too slowly.',
  409: 'Things do not stand so that this can be done; the sentence says why.',
  410: 'It is no longer kept.',
  412: '`Annals-Position` is of another log (`OTHER_LOG`), or beyond what this one has (`BEYOND_LOG`).',
  413: 'The body is too large.',
  415: 'The body is of another type, or encoded.',
  416: 'There is no byte at any of the ranges.',
  429: 'Too often; `Retry-After` says when to come back.',
  500: 'Something went wrong on our side; no detail is sent.',
  503: 'The database or the log does not answer, or the read models are `BEHIND` what the request names; `Retry-After` says when to try again.',
  507: 'There is no room on the disk.',
} as const;

/** A response: what it means, and its body. */
function answer<S extends TSchema>(description: string, schema: S, headers?: object) {
  return { description, ...(headers ? { headers } : {}), content: { 'application/json': { schema } } };
}

/** The answer of a route that reads no read model. */
export function plainAnswer<S extends TSchema>(description: string, schema: S) {
  return answer(description, schema);
}

const retryAfter = { 'Retry-After': { type: 'integer', description: 'Seconds to wait.' } };
const refusalHeaders: Readonly<Record<number, object>> = {
  401: { 'WWW-Authenticate': { type: 'string', description: 'Always `Bearer`.' } },
  429: retryAfter,
  503: retryAfter,
};

type Refusals = { readonly [K in keyof typeof refusals]: ReturnType<typeof answer<typeof errorBody.ref>> };

/** Response schemas of the refusals that a route can answer; 500 and 503 are among every route's. */
export function errors(...statuses: readonly (keyof Refusals)[]): Partial<Refusals> {
  const all = [...statuses, 500, 503] as const;
  return Object.fromEntries(
    all.map((status) => [status, answer(refusals[status], errorBody.ref, refusalHeaders[status])]),
  );
}

/** Response schemas of a route that reads the read models: its answer, how far they are, and its refusals. */
export function readAnswers<S extends TSchema>(
  description: string,
  schema: S,
  ...statuses: readonly (keyof Refusals)[]
) {
  const notModified = { type: 'null', description: 'The caller has the answer that `If-None-Match` names already.' };
  return { 200: answer(description, schema, readHeaders), 304: notModified, ...errors(...statuses, 412) };
}

/** The form of a token of `Annals-Position`. */
export const positionPattern = 'eyJ[A-Za-z0-9_-]{8,2045}';

/** Headers of a request to a route that reads the read models. */
export const readRequestHeaders = query({
  'Annals-Position': optional(
    Type.String({
      pattern: `^${positionPattern}$`,
      description:
        'A token of an answer, to a write or a read: this answer includes what that one did, or waits for it.',
    }),
  ),
  Prefer: optional(
    Type.String({
      minLength: 0,
      description:
        '`wait=N`: how many seconds to wait for it at most; 2 unless set, at most 10. Others are passed over.',
    }),
  ),
  'If-None-Match': optional(Type.String({ minLength: 0, description: 'Tags of answers that the caller has.' })),
});

/**
 * Parameters of a query string, or headers; one is absent from `required` whether or not it has a default, and a text
 * has at least one character.
 */
export function query<P extends Readonly<Record<string, TSchema>>>(properties: P) {
  const documented = Object.entries<TSchema>(properties).map(([name, one]) => [name, notEmpty(one)]);
  return Type.Unsafe<{ [K in keyof P]: Static<P[K]> }>({ type: 'object', properties: Object.fromEntries(documented) });
}

/** The schema of a parameter, without the empty text where it takes texts of any kind. */
function notEmpty(schema: TSchema): TSchema {
  const isText = 'type' in schema && schema.type === 'string' && !('enum' in schema) && !('format' in schema);
  return isText ? { minLength: 1, ...schema } : schema;
}

/** For a route whose schema documents its parameters, while its handler reads and checks them. */
export const judgedByHandler = () => (value: unknown) => ({ value });

/** A parameter that may be left out. */
export function optional<T extends TSchema>(schema: T) {
  return Type.Unsafe<Static<T> | undefined>({ ...schema });
}

/** A parameter that is a moment; `parameters.ts` reads it. */
export function moment(description: string) {
  return Type.Unsafe<Instant>({ type: 'string', format: 'date-time', description });
}

/** The parameter of a page behind another; a cursor of another list, or of other filters, is refused. */
export const cursorParameter = optional(
  Type.String({
    pattern: '^[A-Za-z0-9_-]{40,4000}$',
    description: 'The cursor of the last answer, with the same filters.',
  }),
);

/** What answers of server-sent events are documented as: each event has data, and the id that resumes behind it. */
export const serverSentEvents = {
  schema: Type.Object({
    data: Type.Optional(Type.String()),
    event: Type.Optional(Type.String()),
    id: Type.Optional(Type.String()),
    retry: Type.Optional(Type.Integer()),
  }),
} as const;

/** Lets Fastify take the types of requests and answers from the schemas. */
export interface SchemaTypes extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown;
  serializer: this['schema'] extends TSchema ? Static<this['schema']> : unknown;
}

/** A Fastify whose routes are typed by their schemas. */
export type App = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, SchemaTypes>;

/** Headers of an answer that was read from the read models. */
const readHeaders = {
  'Annals-Position': {
    type: 'string',
    description:
      'How far the read models of this route have followed the log: an opaque, URL-safe token. It never goes back.',
  },
  'Annals-Lag-Ms': {
    type: 'integer',
    description: 'How far the read models are behind the log, in milliseconds; 0 when they have all of it.',
  },
  'Annals-Chain-Age-Ms': {
    type: 'integer',
    description:
      'Milliseconds since the last completed round of this route’s source (the oldest of several); left out before the first one.',
  },
  'Annals-As-Of': {
    type: 'string',
    description: 'The instant that the answer is of, as a token; only where one was named.',
  },
  'Memento-Datetime': {
    type: 'string',
    description: 'The time that was named, or else when the last event of that instant was stored (RFC 7089).',
  },
  ETag: { type: 'string', description: 'Names this answer: equal ones are equal answers. `If-None-Match` takes it.' },
  'Cache-Control': {
    type: 'string',
    description: '`no-cache`: may be held, and used once it is 304. An hour for an instant a minute ago or earlier.',
  },
} as const;
