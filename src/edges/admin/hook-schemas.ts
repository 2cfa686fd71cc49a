import { Type } from 'typebox';
import { hookStatuses } from '../../commands/hooks/hook-state.ts';
import { publicLogs } from '../../engine/archive/proof/serving.ts';
import { type FactType, factTypes, streamOf } from '../../events/catalogue.ts';
import { eventType } from '../../events/upcast.ts';
import { component, nullable, query, time, words } from '../http/schema.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });
const stream = words(publicLogs, { description: 'Public stream of the log.' });

/** The facts of public streams by the type of their events. */
export const typesByEvent: ReadonlyMap<string, FactType> = new Map(
  factTypes.filter((type) => publicLogs.includes(streamOf(type))).map((type) => [eventType(type), type]),
);

const url = Type.String({
  description: 'http or https, at a public address; without user and password.',
});
const description = Type.String({ maxLength: 256, description: 'A note for people.' });
const streamList = Type.Array(stream, { minItems: 1, maxItems: publicLogs.length, description: 'Streams to follow.' });
const types = Type.Array(words([...typesByEvent.keys()]), {
  maxItems: typesByEvent.size,
  description: 'Types of the events to send; none stands for all of these streams.',
});
const entity = Type.String({ minLength: 1, maxLength: 256, description: 'The one entity whose events are sent.' });
const sequence = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

/** Body of a registration. */
export const registration = Type.Object(
  {
    url,
    description: Type.Optional(description),
    streams: streamList,
    types: Type.Optional(types),
    entity: Type.Optional(entity),
    from: Type.Optional(
      Type.Unsafe<number>({
        ...sequence,
        description: 'First sequence to send, of each stream; unset: what is written from now on.',
      }),
    ),
  },
  { additionalProperties: false },
);

/** Body of a change; what is left out stays. */
export const hookChange = Type.Object(
  {
    url: Type.Optional(url),
    description: Type.Optional(description),
    streams: Type.Optional(streamList),
    types: Type.Optional(types),
    entity: Type.Optional(Type.Unsafe<string>({ type: 'string', maxLength: 256, description: 'The empty text: all.' })),
    enabled: Type.Optional(
      Type.Boolean({ description: '`false` ends deliveries, `true` resumes them, as `retry` does.' }),
    ),
  },
  { additionalProperties: false },
);

/** Body of a replay. */
export const replay = Type.Object(
  {
    from: Type.Unsafe<number>({
      ...sequence,
      description: 'First sequence to send; beyond the end by one: only what follows.',
    }),
    stream: Type.Optional(words(publicLogs, { description: 'Unset: every stream of the hook.' })),
  },
  { additionalProperties: false },
);

/** Parameters of a rotation. */
export const rotation = query({
  grace_seconds: Type.Integer({
    minimum: 0,
    maximum: 604_800,
    default: 86_400,
    description: 'How long the secret before signs too.',
  }),
});

const failure = Type.Object({
  at: time('When.'),
  event: Type.String({ description: 'Id of the event.' }),
  stream: Type.String({ description: 'Stream that it lies in.' }),
  sequence: count('Its sequence.'),
  attempt: count('The how manieth attempt at it that was.'),
  status: nullable(Type.Integer({ description: 'HTTP status of the answer.' })),
  reason: Type.String({ description: 'What went wrong.' }),
});

const hook = component(
  'Hook',
  Type.Object({
    id: Type.String({ description: 'Id of the hook.' }),
    url: Type.String({ description: 'Where events are sent.' }),
    description: Type.String({ description: 'A note for people.' }),
    streams: Type.Array(
      Type.Object({
        name: Type.String({ description: 'Stream that is followed.' }),
        position: count('All events up to it are delivered, passed over by the filter, or of an entity that waits.'),
        lag_events: count('Events of the stream beyond it.'),
        created_anew: Type.Boolean({
          description: 'The stream was created anew since: replay it from where events are due.',
        }),
      }),
    ),
    types: Type.Array(Type.String(), { description: 'Types that are sent; none: all.' }),
    entity: nullable(Type.String({ description: 'The one entity whose events are sent.' })),
    status: words(hookStatuses),
    disabled_reason: nullable(
      Type.String({ description: '`operator`, `gone` (410), `failing` (the last attempt failed) or `secret_lost`.' }),
    ),
    created_at: time('When it was registered.'),
    previous_secret_until: nullable(time('Until when the secret before signs too.')),
    paused_until: nullable(time('When deliveries resume, as the receiver requested.')),
    delivered: count('Events that were acknowledged.'),
    failed: count('Attempts that were not.'),
    last_delivered_at: nullable(time('When an event was last acknowledged.')),
    last_failure: nullable(failure),
    waiting: Type.Array(
      Type.Object({
        stream: Type.String({ description: 'Stream of the entity.' }),
        entity: Type.String({ description: 'Entity whose events are held back.' }),
        sequence: count('The event that failed.'),
        attempts: count('Attempts at it so far.'),
        since: time('When the first of them failed.'),
        next_at: time('When the next one is due.'),
      }),
      { description: 'Entities whose events wait for another attempt; all others go on.' },
    ),
  }),
);
const hookList = component('Hooks', Type.Object({ hooks: Type.Array(hook.ref) }));
const secret = Type.String({ description: 'Signs deliveries: `whsec_` and base64. It is shown this once.' });
const registered = component('RegisteredHook', Type.Object({ hook: hook.ref, secret }));
const tested = component(
  'TestedHook',
  Type.Object({
    id: Type.String({ description: 'Id of the event that was sent.' }),
    acknowledged: Type.Boolean({ description: 'Whether the answer was 200 to 299.' }),
    status: nullable(Type.Integer({ description: 'HTTP status of the answer.' })),
    reason: nullable(Type.String({ description: 'What went wrong.' })),
  }),
);

/** Bodies of answers. */
export const hookAnswers = { hook, list: hookList, registered, tested } as const;

/** The components of these routes. */
export const hookComponents = Object.values(hookAnswers);

/** The hook that a path names. */
export const hookParams = Type.Object({ id: Type.String({ description: 'Id of the hook.' }) });
