import { Type } from 'typebox';
import { publicLogs } from '../../../engine/archive/proof/serving.ts';
import { component, nullable, optional, query, words } from '../../http/schema.ts';

/** The media type of a list of CloudEvents. */
export const batchType = 'application/cloudevents-batch+json';

/** An event with where and when it was stored. */
export const shownEvent = component(
  'Event',
  Type.Object({
    stream: words(publicLogs, { description: 'Stream that holds it.' }),
    sequence: Type.Integer({ description: 'Its sequence in the stream, from 1.' }),
    recordedtime: Type.String({
      format: 'date-time',
      description:
        'When the log stored it, to the nanosecond (an extension of CloudEvents); `time` is when it was seen.',
    }),
    tx: nullable(Type.String({ description: 'Hash of the transaction that it reports; null where it names none.' })),
    height: nullable(
      Type.Integer({ description: 'Height of that transaction, or else the one at which the chain was read.' }),
    ),
    event_url: Type.String({ description: 'Path of its bytes.' }),
    proof_url: Type.String({ description: 'Path of a proof that the log has it; 404 until a checkpoint reaches it.' }),
    event: Type.Object(
      {},
      {
        additionalProperties: true,
        description: 'The CloudEvent, as JSON; `body` or `event_url` have its very bytes.',
      },
    ),
    body: Type.Optional(
      Type.String({
        description: 'The stored bytes as text, whose SHA-256 is the entry of the log; only with `proofs=inline`.',
      }),
    ),
    proof: Type.Optional(
      nullable(
        Type.String({
          description: 'C2SP tlog-proof of them, null until a checkpoint reaches the event; only with `proofs=inline`.',
        }),
      ),
    ),
  }),
);

/** A page of the events of one record. */
export const recordEvents = component(
  'RecordEvents',
  Type.Object({
    id: Type.String({ description: 'Id of the record.' }),
    events: Type.Array(shownEvent.ref, { description: 'In the order of the log.' }),
    next_after: nullable(
      Type.Integer({ description: 'What `after` takes for the next page; null where the last event is shown.' }),
    ),
  }),
);

/** A page of events that something links. */
export const linkedEvents = component(
  'LinkedEvents',
  Type.Object({
    events: Type.Array(shownEvent.ref, { description: 'Ordered by stream and sequence.' }),
    next_after: nullable(
      Type.String({ description: 'What `after` takes for the next page; null where the last event is shown.' }),
    ),
  }),
);

/** A page of the events that an event caused, and that event itself where it is one that may cause others. */
export const causedEvents = component(
  'CausedEvents',
  Type.Object({ cause: Type.Optional(shownEvent.ref), ...linkedEvents.schema.properties }),
);

/** All components of these routes. */
export const eventComponents = [shownEvent, recordEvents, linkedEvents, causedEvents];

/** Whether proofs come with the events. */
export const proofsParam = optional(
  words(['inline'], { description: '`inline` adds the bytes of each event as text, and its proof.' }),
);

const limit = Type.Integer({ minimum: 1, maximum: 1000, default: 100, description: 'Events on a page.' });

/** Parameters of events that something links. */
export const linkedEventsQuery = query({
  limit,
  after: optional(
    Type.String({ pattern: '^[A-Z]+:\\d{1,15}$', description: 'Only events behind this one, such as `ACTIONS:42`.' }),
  ),
  proofs: proofsParam,
});

/** Parameters of the events of a record. */
export const recordEventsQuery = query({
  limit,
  after: Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    default: 0,
    description: 'Only events after this sequence of their stream.',
  }),
  proofs: proofsParam,
});

/** The answer of a route of events, in both forms. */
export function eventsAnswer<S extends object>(description: string, schema: S, headers: object = {}) {
  const batch = { type: 'array', items: { type: 'object', additionalProperties: true } };
  return {
    description,
    headers: {
      Link: { type: 'string', description: 'The next page, as `rel="next"`; only where there is one.' },
      ...headers,
    },
    content: { 'application/json': { schema }, [batchType]: { schema: batch } },
  };
}
