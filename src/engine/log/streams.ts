import {
  DiscardPolicy,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  StoreCompression,
  type StreamConfig,
  type StreamInfo,
  type StreamUpdateConfig,
} from '@nats-io/jetstream';
import { type NatsConnection, nanos } from '@nats-io/transport-node';
import pRetry from 'p-retry';
import { gte } from 'semver';
import { AppError, passes } from '../../kit/errors.ts';
import { refusedWith } from './breaks.ts';
import {
  storedDays,
  storedPerEntity,
  liveKinds,
  type StreamName,
  type StreamPolicies,
  type StreamPolicy,
  streams,
  streamTable,
  subjectsOf,
} from '../../events/streams.ts';

/**
 * The least nats-server that has every guard the log relies on: atomic batches with an expected sequence for each
 * subject.
 */
export const leastServer = '2.12.1';
const duplicateWindowMs = 120_000;
/** A cluster that has no leader yet drops requests: they are repeated for a minute. */
const answerWithinMs = 5000;
const requestedAgain = { retries: 11, minTimeout: 200, factor: 1 };

/** An operator's settings of the streams; those left out stay as they are. */
export type StreamOptions = Readonly<{ replicas?: number | undefined; maxBytes?: number | undefined }>;

const dayMs = 24 * 3_600_000;

/** Of streams that are new on a cluster, where nothing is chosen. */
const replicasOnCluster = 3;

/** The name of a stream on the broker. */
export function streamName(stream: StreamName, network: string): string {
  return `${stream}_${network}`;
}

/** Metadata of a stream that was restored event by event: the incarnation that it continues. */
export const incarnationKey = 'annals-incarnation';

/**
 * Identity of a stream's sequences: the time of its creation, RFC 3339. A stream created anew has sequences of its own;
 * one that was restored with the same events at the same sequences keeps the incarnation it had.
 */
export function incarnationOf(info: StreamInfo): string {
  return info.config.metadata?.[incarnationKey] ?? info.created;
}

/** `incarnation` is the one that streams which are created continue; without it they begin one of their own. */
type EnsureOptions = StreamOptions &
  Readonly<{ policies?: StreamPolicies; only?: readonly StreamName[]; incarnation?: string | undefined }>;

/**
 * Creates every stream of a network, or those named, or checks that it is as it must be; safe to repeat and to race.
 *
 * One that exists gains the kinds that it does not accept yet. Fails with `CONFLICT` when a stream exists with another
 * shape or accepts more than this program knows, and with `UNAVAILABLE` when the server is too old.
 */
export async function ensureStreams(
  nc: NatsConnection,
  network: string,
  { policies = streamTable, only = streams, incarnation, ...options }: EnsureOptions = {},
): Promise<void> {
  const version = nc.info?.version ?? '0.0.0';
  if (!gte(version, leastServer))
    throw new AppError('UNAVAILABLE', `The broker is nats-server ${version}; ${leastServer} or later is needed`);
  try {
    const manager = await jetstreamManager(nc, { timeout: answerWithinMs });
    const isCluster = nc.info?.cluster !== undefined;
    const fresh = { replicas: isCluster ? replicasOnCluster : 1 };
    const ensuring = { manager, network, policies, options, fresh, incarnation };
    await pRetry(() => Promise.all(only.map((stream) => ensureStream(ensuring, stream))), {
      ...requestedAgain,
      shouldRetry: ({ error }) => passes(error),
    });
  } catch (caught) {
    if (caught instanceof AppError) throw caught;
    const why = caught instanceof Error ? caught.message : String(caught);
    const remedy = isShortOfServers(caught)
      ? '; let more servers join, or set STREAM_REPLICAS to as many as there are'
      : '';
    throw new AppError('UNAVAILABLE', `The streams of ${network} can be neither checked nor created: ${why}${remedy}`, {
      cause: caught,
    });
  }
}

type Ensuring = Readonly<{
  manager: JetStreamManager;
  network: string;
  policies: StreamPolicies;
  options: StreamOptions;
  /** What new streams have where the options leave it open. */
  fresh: StreamOptions;
  incarnation: string | undefined;
}>;

async function ensureStream(ensuring: Ensuring, stream: StreamName): Promise<void> {
  const { manager, network, options, policies } = ensuring;
  const shape = shapeOf(stream, network, policies[stream]);
  const match = await findStream(manager, shape.name);
  if (match === undefined) return createStream(ensuring, stream);
  const { subjects, republish, ...fixed } = shape;
  const foreign = match.config.subjects.filter((subject) => !subjects.includes(subject));
  const wrong = [
    ...differences(fixed, match.config),
    ...(foreign.length > 0 ? [`it takes in ${foreign.join(', ')}, which this version does not know`] : []),
  ];
  if (wrong.length > 0)
    throw new AppError('CONFLICT', `Stream ${shape.name} exists with another configuration: ${wrong.join('; ')}`);
  const changed = { subjects, ...(republish && { republish }), ...choiceOf(options) };
  const isRepublishedInVain = republish === undefined && match.config.republish !== undefined;
  if (isRepublishedInVain || differences(changed, match.config).length > 0)
    await manager.streams.update(shape.name, {
      ...match.config,
      ...choiceOf(options),
      subjects,
      republish,
    } as Partial<StreamUpdateConfig>);
}

async function createStream(ensuring: Ensuring, stream: StreamName): Promise<void> {
  const { manager, network, policies, options, fresh, incarnation } = ensuring;
  const shape = shapeOf(stream, network, policies[stream]);
  const named = incarnation === undefined ? {} : { metadata: { [incarnationKey]: incarnation } };
  try {
    await manager.streams.add({ ...shape, ...choiceOf(fresh), ...choiceOf(options), ...named });
  } catch (caught) {
    const accepted = refusedWith(caught, 'nameTaken');
    if (!accepted) throw caught;
    await ensureStream(ensuring, stream);
  }
}

/** Not enough servers have joined, or the server is in no cluster. */
function isShortOfServers(caught: unknown): boolean {
  return refusedWith(caught, 'noSuitablePeers', 'replicasNeedCluster');
}

async function findStream(manager: JetStreamManager, name: string): Promise<StreamInfo | undefined> {
  try {
    return await manager.streams.info(name);
  } catch (caught) {
    if (refusedWith(caught, 'streamNotFound')) return undefined;
    throw caught;
  }
}

/** The fields of a configuration that Annals decides. */
export type StreamShape = Partial<StreamConfig> & Pick<StreamConfig, 'name' | 'subjects'>;

/** What makes a stream part of the log; nothing of it may differ, but that it gains kinds. */
export function shapeOf(stream: StreamName, network: string, policy: StreamPolicy): StreamShape {
  const republish = republishOf(stream, network, policy);
  return {
    name: streamName(stream, network),
    subjects: subjectsOf(policy, network),
    storage: StorageType.File,
    compression: StoreCompression.S2,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    deny_delete: true,
    deny_purge: true,
    allow_direct: true,
    allow_atomic: true,
    duplicate_window: nanos(duplicateWindowMs),
    max_msgs_per_subject: storedPerEntity(policy) ?? -1,
    max_age: nanos((storedDays(policy) ?? 0) * dayMs),
    ...(republish && { republish }),
  };
}

/**
 * JetStream republishes one pattern for each stream: that of the one live kind, or a wildcard where all kinds are live.
 */
function republishOf(stream: StreamName, network: string, policy: StreamPolicy): StreamConfig['republish'] {
  const [live, ...others] = liveKinds(policy);
  if (live === undefined) return undefined;
  if (others.length === 0) return { src: `evt.${live}.${network}.>`, dest: `live.${live}.${network}.>` };
  if (others.length + 1 < Object.keys(policy.kinds).length)
    throw new AppError(
      'INTERNAL',
      `${stream} has several live kinds and others: give those that are not live a stream of their own`,
    );
  return { src: `evt.*.${network}.>`, dest: `live.{{wildcard(1)}}.${network}.>` };
}

function choiceOf({ replicas, maxBytes }: StreamOptions): Partial<StreamConfig> {
  return {
    ...(replicas === undefined ? {} : { num_replicas: replicas }),
    ...(maxBytes === undefined ? {} : { max_bytes: maxBytes }),
  };
}

/**
 * The differences from a wanted configuration, by its own keys: servers add keys of their own, and may leave out values
 * that are zero or false.
 */
function differences(wanted: Partial<StreamConfig>, result: StreamConfig): string[] {
  const actual = new Map<string, unknown>(Object.entries(result));
  return Object.entries(wanted)
    .filter(([key, value]) => !isAsWanted(value, actual.get(key)))
    .map(([key, value]) => `${key} is ${JSON.stringify(actual.get(key))}, not ${JSON.stringify(value)}`);
}

function isAsWanted(wanted: unknown, hit: unknown): boolean {
  if (!(wanted instanceof Object)) return wanted === hit || (hit === undefined && !wanted);
  if (!(hit instanceof Object)) return false;
  if (Array.isArray(wanted) && Array.isArray(hit) && wanted.length !== hit.length) return false;
  return Object.entries(wanted).every(([key, value]) => isAsWanted(value, Reflect.get(hit, key)));
}
