import { Type } from 'typebox';
import { streams } from '../../events/streams.ts';
import { projectionNames } from '../../projections/projection.ts';
import { component, nullable, time, words } from '../http/schema.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });
const seconds = (description: string) => Type.Number({ minimum: 0, description });
const stream = words(streams, { description: 'Stream of the log.' });
const list = (description: string) => Type.Array(Type.String(), { description });

/** The states of a projection. */
export const projectionStatuses = ['starting', 'catching_up', 'live', 'rebuilding', 'paused', 'stopped'] as const;

const rebuild = Type.Object(
  {
    generation: count('Number of the generation that is built.'),
    position: count('Sequence of the last fact in it.'),
    stopped_reason: nullable(Type.String({ description: 'Why it was given up; null while it is built.' })),
  },
  { description: 'A generation that readers do not see yet.' },
);

const projection = component(
  'Projection',
  Type.Object({
    name: words(projectionNames, { description: 'Name of the read model.' }),
    status: words(projectionStatuses, {
      description:
        'Of what readers see: none built yet (`starting`), a second or more behind (`catching_up`), at the log (`live`), the same while another is built beside it (`rebuilding`), paused by an operator, or stopped at a fact.',
    }),
    generation: nullable(count('The generation that readers see; `If-Match` takes it.')),
    version: nullable(count('Version of the handlers that made it.')),
    stream: nullable(stream),
    position: nullable(count('Sequence of the last fact in it.')),
    lag_events: nullable(count('Events of the stream that are not in it.')),
    lag_seconds: nullable(seconds('How long ago the stream went beyond its position; 0 at its end.')),
    stopped_at: nullable(time('When it stopped.')),
    stopped_reason: nullable(Type.String({ description: 'Why it stopped.' })),
    paused_at: nullable(time('Since when an operator pauses it.')),
    rebuild: nullable(rebuild),
  }),
);

/** The states of a stream and its archive. */
export const streamStatuses = ['unarchived', 'uncompared', 'sound', 'damaged'] as const;

const streamState = component(
  'Stream',
  Type.Object({
    name: stream,
    status: words(streamStatuses, {
      description: 'What its last comparison with the archive found; `unarchived` where the archive holds nothing.',
    }),
    first_sequence: count('First event that it holds; 0 where there never was one.'),
    last_sequence: count('Last event.'),
    written_at: nullable(time('When the last event was stored.')),
    incarnation: time('When the stream was created.'),
    archived: nullable(count('Sequence of the last event in the archive.')),
    lag_events: nullable(count('Events that the archive does not hold yet.')),
    lag_seconds: nullable(seconds('How long ago the stream went beyond its archive.')),
    compared_at: nullable(time('When it was last compared with its archive.')),
    findings: list('The damage that the last comparison found.'),
    repaired_at: nullable(time('When it was last repaired.')),
    repaired: list('What that repair did.'),
  }),
);

/** The states of a source of sync. */
export const sourceStatuses = ['waiting', 'following', 'failing'] as const;

const source = component(
  'Source',
  Type.Object({
    name: Type.String({ description: 'Source of sync.' }),
    status: words(sourceStatuses, {
      description: 'No round has completed yet, the last round completed, or the last one failed.',
    }),
    chain_id: nullable(Type.String({ description: 'Id of the chain that it follows.' })),
    completed_at: nullable(time('When its last completed round ended.')),
    completed_height: nullable(count('Height of the chain then.')),
    lag_seconds: nullable(seconds('How long ago that was.')),
    requests: nullable(count('Requests of that round.')),
    facts: nullable(count('Facts of that round.')),
    failed_at: nullable(time('When a round failed since.')),
    failed_reason: nullable(Type.String({ description: 'Why, as a word.' })),
    failed_message: nullable(Type.String({ description: 'Why, as a sentence.' })),
  }),
);

const lease = component(
  'Lease',
  Type.Object({
    name: Type.String({ description: 'What it is for: `sync`, `archive`, `projection.actions` …' }),
    holder: Type.String({ description: 'Host, process and a random word of its holder.' }),
    renewed_at: time('When it was last renewed, by the broker’s clock.'),
  }),
);

/** The states of a log. */
export const logStatuses = ['unsigned', 'signed', 'refused'] as const;

const log = component(
  'SignedLog',
  Type.Object({
    stream,
    status: words(logStatuses, {
      description: 'No checkpoint yet, or the last one; or none is signed now, for `refused_reason`.',
    }),
    public: Type.Boolean({ description: 'Whether anybody may read it below `/log/<stream>`.' }),
    origin: nullable(Type.String({ description: 'Name of the log.' })),
    vkey: nullable(Type.String({ description: 'Key that its checkpoints are signed by.' })),
    size: nullable(count('Events of the last checkpoint.')),
    signed_at: nullable(time('When that was signed.')),
    lag_events: nullable(count('Events of the stream beyond it.')),
    refused_reason: nullable(Type.String({ description: 'Why nothing is signed.' })),
  }),
);

const loss = component(
  'Loss',
  Type.Object({
    stream,
    first: count('First sequence that is lost.'),
    last: count('Last sequence that is lost.'),
    reason: Type.String({ description: 'Why neither the log nor the archive has it.' }),
    ids: list('Ids of the events, as far as they are known.'),
  }),
);

/** The body of each list, by the last word of its path. */
export const lists = {
  projections: component('Projections', Type.Object({ projections: Type.Array(projection.ref) })),
  streams: component('Streams', Type.Object({ streams: Type.Array(streamState.ref) })),
  sources: component('Sources', Type.Object({ sources: Type.Array(source.ref) })),
  leases: component('Leases', Type.Object({ leases: Type.Array(lease.ref) })),
  logs: component('SignedLogs', Type.Object({ logs: Type.Array(log.ref) })),
  losses: component('Losses', Type.Object({ losses: Type.Array(loss.ref) })),
} as const;

/** The components of the document. */
export const adminComponents = [projection, streamState, source, lease, log, loss, ...Object.values(lists)];
