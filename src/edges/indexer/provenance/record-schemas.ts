import { Type } from 'typebox';
import type { Static, TSchema } from 'typebox';
import { component, nullable, optional, query, readAnswers, readRequestHeaders } from '../../http/schema.ts';
import { recordAtHeight } from '../height/at-height.ts';
import { minHeight } from '../freshness/freshness.ts';
import { asOf, instantPattern } from '../rest/as-of.ts';

/** The media type of a JSON Patch. */
export const patchType = 'application/json-patch+json';

const eventLocation = component(
  'EventLocation',
  nullable(
    Type.Object(
      {
        stream: Type.String({ description: 'Stream that holds it.' }),
        sequence: Type.Integer({ description: 'Its sequence in the stream, from 1.' }),
        id: Type.String({ description: 'Id of the event.' }),
        type: Type.String({ description: 'Type of the event.' }),
        time: Type.String({ format: 'date-time', description: 'When it was seen.' }),
      },
      { description: 'An event of a public log; null where no single event made the value.' },
    ),
  ),
);

type Location = Static<typeof eventLocation.schema>;
type Field = Readonly<{ value: unknown; event: Location; events?: readonly Location[]; was: unknown }>;

/** Which event brought each field of a record to its value. */
export const explainedFields = component(
  'Explained',
  Type.Unsafe<Readonly<Record<string, Field>>>({
    type: 'object',
    description:
      'Each field of the record by its name: `value`, the `event` that brought it there, and what it `was` before, which is null before the first event. A field that joins records has all their `events`, its own first; `event` is then the last of the others.',
    additionalProperties: {
      type: 'object',
      additionalProperties: true,
      properties: { event: eventLocation.ref, events: { type: 'array', items: eventLocation.ref } },
    },
  }),
);

/** All components of these routes. */
export const recordComponents = [eventLocation, explainedFields];

const explainableParams = {
  as_of: asOf,
  min_height: minHeight,
  explain: Type.Boolean({
    default: false,
    description: 'Whether `explained` is answered as well: for each field the event that brought it there.',
  }),
  diff: optional(
    Type.String({
      pattern: instantPattern,
      description:
        'Another instant: the answer is the JSON Patch (RFC 6902) from the record at `as_of` to the record then.',
    }),
  ),
};

/** Parameters of an action: also the height of the chain that it is shown at. */
export const actionQuery = query({
  ...explainableParams,
  at_height: recordAtHeight,
});

/** Parameters and answers of one record that can be explained and compared. */
export function explainable<S extends TSchema>(description: string, schema: S, ...further: readonly 409[]) {
  const answers = readAnswers(description, schema, 400, 404, 410, ...further);
  const operation = { type: 'object', additionalProperties: true };
  const patch = { schema: { type: 'array', items: operation } };
  return {
    querystring: query(explainableParams),
    headers: readRequestHeaders,
    response: { ...answers, 200: { ...answers[200], content: { ...answers[200].content, [patchType]: patch } } },
  };
}
