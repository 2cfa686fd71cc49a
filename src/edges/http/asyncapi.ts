import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import { catalogue, type FactType, factTypes, streamOf } from '../../events/catalogue.ts';
import { liveKinds, type StreamName, streams, streamTable } from '../../events/streams.ts';
import { eventType } from '../../events/upcast.ts';

/** What the document is about: a network, and where its events are heard. */
export type LiveDescription = Readonly<{
  version: string;
  network: string;
  /** Host and port of the HTTP API, as its caller knows it. */
  host: string;
  natsPort: number;
  natsWsPort: number;
}>;

type Json = Readonly<Record<string, unknown>>;

const contentType = 'application/cloudevents+json';
const publicStreams = streams.filter((stream) => streamTable[stream].proven === 'public');
const live = new Set<string>(streams.flatMap((stream) => liveKinds(streamTable[stream])));
const isLive = (type: FactType): boolean => live.has(catalogue[type].kind);
const isPublic = (type: FactType): boolean => publicStreams.some((stream) => stream === streamOf(type));
/** Facts that strangers may read; of private kinds not even the form is shown. */
const shownTypes = factTypes.filter((type) => isLive(type) || isPublic(type));

const ref = (...path: readonly string[]): Json => ({
  $ref: `#/${path.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')}`,
});

/**
 * The AsyncAPI 3.0 document of a network's events: what is republished over NATS, the server-sent events of `/live` and
 * of each public log, and one message for each fact, from the catalogue, the streams and the protobuf schemas alone.
 *
 * @example asyncApi({ version, network: 'local', host: 'localhost:18080', natsPort: 4222, natsWsPort: 4223 })
 */
export function asyncApi(description: LiveDescription): Json {
  const channels = { ...natsChannels(description), ...httpChannels() };
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Annals events',
      version: description.version,
      description:
        'Facts of a Cascade/Sense storage network as CloudEvents, as they are written and from the beginning of each public log.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: contentType,
    servers: serversOf(description),
    channels,
    operations: Object.fromEntries(Object.keys(channels).map((name) => [`send_${name}`, operationOf(name)])),
    components: {
      messages: Object.fromEntries(shownTypes.map((type) => [type, messageOf(type)])),
      schemas: schemasOf(shownTypes),
    },
  };
}

function serversOf({ host, natsPort, natsWsPort }: LiveDescription): Json {
  const broker = (port: number, protocol: string, description: string): Json => ({
    host: '{host}:{port}',
    protocol,
    description,
    variables: {
      host: { default: 'localhost', description: 'Host of the broker.' },
      port: {
        default: String(port),
        description: 'Port of the broker; of one that is not run here the operator says.',
      },
    },
  });
  return {
    nats: broker(natsPort, 'nats', 'Anybody may subscribe, and do nothing else.'),
    websocket: broker(natsWsPort, 'ws', 'NATS over WebSocket.'),
    http: { host, protocol: 'http', description: 'Server-sent events.', 'x-sse': true },
  };
}

function natsChannels({ network }: LiveDescription): Json {
  return Object.fromEntries(
    [...live].map((kind) => [
      `live_${kind}`,
      {
        address: `live.${kind}.${network}.{entity}`,
        servers: [ref('servers', 'nats'), ref('servers', 'websocket')],
        description: `Facts of one ${kind}, from now on.`,
        parameters: {
          entity: { description: 'Whom they are about; `%`, `.`, `*`, `>` and blanks are percent-encoded.' },
        },
        messages: messagesOf(shownTypes.filter((type) => catalogue[type].kind === kind)),
      },
    ]),
  );
}

function httpChannels(): Json {
  const servers = [ref('servers', 'http')];
  const log = (stream: StreamName) => ({
    address: `/log/${stream}/events`,
    servers,
    description: 'Each event has its sequence as `id`; `Last-Event-ID` resumes without a gap.',
    messages: messagesOf(shownTypes.filter((type) => streamOf(type) === stream)),
  });
  return {
    live: {
      address: '/live',
      servers,
      description: 'What is written from now on; a slow reader is cut off. Events named `moved` are hints, not facts.',
      messages: messagesOf(shownTypes.filter(isLive)),
    },
    ...Object.fromEntries(publicStreams.map((stream) => [`log_${stream}`, log(stream)])),
  };
}

function operationOf(channel: string): Json {
  return { action: 'send', channel: ref('channels', channel) };
}

function messagesOf(types: readonly FactType[]): Json {
  return Object.fromEntries(types.map((type) => [type, ref('components', 'messages', type)]));
}

function messageOf(type: FactType): Json {
  const { kind } = catalogue[type];
  const payload = {
    type: 'object',
    properties: {
      specversion: { type: 'string', const: '1.0' },
      id: { type: 'string', description: 'Follows from what happened, so a repeated event has the same one.' },
      source: { type: 'string' },
      type: { type: 'string', const: eventType(type) },
      subject: { type: 'string', description: `The ${catalogue[type].entity} that it is about.` },
      time: { type: 'string', format: 'date-time' },
      correlationid: { type: 'string' },
      causationid: { type: 'string' },
      traceparent: { type: 'string' },
      previousid: { type: 'string', description: 'Id of the event of this subject before it; the first one has none.' },
      data: ref('components', 'schemas', catalogue[type].schema.name),
    },
    required: ['specversion', 'id', 'source', 'type', 'subject', 'time', 'data'],
  };
  return { name: eventType(type), title: type, summary: `A fact of kind ${kind}.`, contentType, payload };
}

/** The schemas of the data of facts and of all messages within, by name. */
function schemasOf(types: readonly FactType[]): Json {
  const schemas = new Map<string, Json>();
  const add = (message: DescMessage): void => {
    if (schemas.has(message.name)) return;
    schemas.set(message.name, schemaOf(message));
    for (const { message: inner } of message.fields) if (inner) add(inner);
  };
  for (const type of types) add(catalogue[type].schema);
  return Object.fromEntries(schemas);
}

/**
 * A message as JSON Schema. What is absent by its presence may be left out; fields that are not listed may come, since
 * schemas grow.
 */
function schemaOf({ fields }: DescMessage): Json {
  const required = fields
    .filter(({ presence, fieldKind }) => fieldKind === 'list' || presence === FeatureSet_FieldPresence.IMPLICIT)
    .map(({ jsonName }) => jsonName);
  const properties = Object.fromEntries(fields.map((field) => [field.jsonName, fieldSchema(field)]));
  return { type: 'object', properties, ...(required.length > 0 && { required }) };
}

function fieldSchema(field: DescField): Json {
  const one = field.message ? ref('components', 'schemas', field.message.name) : scalarSchema(field);
  return field.fieldKind === 'list' ? { type: 'array', items: one } : one;
}

/** The types that the schemas of facts are made of; another one has to be decided here first. */
function scalarSchema({ scalar, name }: DescField): Json {
  const known = scalar === undefined ? undefined : scalars[scalar];
  if (!known) throw new Error(`The field ${name} is of a type that no event holds`);
  return known;
}

const scalars: Readonly<Partial<Record<ScalarType, Json>>> = {
  [ScalarType.STRING]: { type: 'string' },
  [ScalarType.BOOL]: { type: 'boolean' },
  [ScalarType.UINT32]: { type: 'integer', minimum: 0, maximum: 2 ** 32 - 1 },
  [ScalarType.INT32]: { type: 'integer', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 },
  [ScalarType.DOUBLE]: { type: 'number' },
};
