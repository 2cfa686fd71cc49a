import type { NatsConnection } from '@nats-io/transport-node';
import { AppError } from '../../kit/errors.ts';
import { liveKinds, type StreamName, streamTable } from '../../events/streams.ts';
import { createGate } from './append/gate.ts';
import { connectNats } from './connection.ts';
import { type Durability, grades, readDurability } from './durability.ts';
import { type Heads, readHeads } from './head.ts';
import { createLeases, type Leases } from './leases.ts';
import { createLog, type Log } from './log.ts';
import { sharedSecret } from './secrets.ts';
import { ensureStreams, type StreamOptions } from './streams.ts';
import { subscribe } from './subscribe.ts';

/**
 * The address of a broker, and the credentials for it; `user` only where the program knows the anonymous side of the
 * server too.
 */
export type BrokerAccess = Readonly<{ url: string; user?: string; pass?: string; monitorUrl?: string | undefined }>;

/** A broker's report of itself: the durability in force, and where it falls short of what the start requires. */
type BrokerState = Readonly<{ durability: Durability; warnings: readonly string[] }>;

/** Everything that the program does with one network's broker. */
export type Broker = Readonly<{
  connection: NatsConnection;
  log: Log;
  leases: Leases;
  /** The ends of all streams. */
  heads: () => Promise<Heads>;
  /** Fails while the broker does not answer. */
  state: () => Promise<BrokerState>;
  /** Events that outsiders see, as JSON text, until the returned function is called. */
  live: (onEvent: (json: string) => void) => () => void;
  /** A secret that all replicas share. */
  secret: (name: string) => Promise<Uint8Array>;
  close: () => Promise<void>;
}>;

/** Options of a network's broker, with listeners for its refusals and for the leases that are held there. */
type BrokerOptions = Readonly<{
  network: string;
  /** The least durability that is accepted. */
  wanted: Durability;
  /** `as they are` for a process that is started by another one: it neither makes nor restores what is missing. */
  streams?: StreamOptions | 'as they are';
  /** Brings back what the broker has lost, before what is missing is made empty. */
  heal?: (connection: NatsConnection) => Promise<void>;
  /** Returns what prevents writes to a stream; no write is sent before it returns undefined. */
  obstacle?: (connection: NatsConnection, stream: StreamName) => Promise<string | undefined>;
  onAppendRefused?: (stream: string) => void;
  onLease?: (lease: string, isHeld: boolean) => void;
}>;

/**
 * Connects, creates missing streams of the network unless they are left as they are, and returns the broker.
 *
 * Safe while other replicas do the same. Fails with `UNAVAILABLE` when the log is less durable than `wanted`.
 */
export async function openBroker(
  access: BrokerAccess,
  { network, wanted, streams = {}, heal, obstacle, ...hears }: BrokerOptions,
): Promise<Broker> {
  const connection = await connectNats({ ...access, name: `annals ${network}` });
  const atStart = await readDurability(access.monitorUrl);
  if (grades.indexOf(atStart) < grades.indexOf(wanted)) {
    await connection.close();
    const remedy =
      'set sync_interval on the nats-server, NATS_MONITOR_URL so that it can be read, or DURABILITY to less';
    throw new AppError('UNAVAILABLE', `DURABILITY asks for ${wanted}, the log is ${atStart}: ${remedy}`);
  }
  if (streams !== 'as they are') {
    await heal?.(connection);
    await ensureStreams(connection, network, streams);
  }
  const log = createLog(connection, network, {
    ...(hears.onAppendRefused ? { onRefused: hears.onAppendRefused } : {}),
    ...(obstacle ? { gate: createGate(connection, (stream) => obstacle(connection, stream)) } : {}),
  });
  return {
    connection,
    log,
    leases: createLeases(connection, network, hears.onLease && { onChange: hears.onLease }),
    heads: () => readHeads(connection, network),
    state: () => stateOf(connection, { monitorUrl: access.monitorUrl, atStart }),
    live: (onEvent) => liveEvents(connection, network, onEvent),
    secret: (name) => sharedSecret(connection, network, name),
    close: () => connection.drain(),
  };
}

async function stateOf(
  connection: NatsConnection,
  { monitorUrl, atStart }: { monitorUrl: string | undefined; atStart: Durability },
): Promise<BrokerState> {
  await connection.rtt();
  const now = await readDurability(monitorUrl);
  if (now === 'unknown') return { durability: atStart, warnings: [] };
  const isLess = grades.indexOf(now) < grades.indexOf(atStart);
  return { durability: now, warnings: isLess ? [`The log is ${now} now; it was ${atStart} at the start.`] : [] };
}

/**
 * Calls back with every event that outsiders may see, as its JSON text in the log, from now on.
 *
 * Events are lost while the broker is away. Returns a function that ends the subscription.
 */
export function liveEvents(nc: NatsConnection, network: string, onEvent: (json: string) => void): () => void {
  const kinds = Object.values(streamTable).flatMap(liveKinds);
  const subscriptions = kinds.map((kind) =>
    subscribe(nc, `live.${kind}.${network}.>`, (message) => onEvent(message.string())),
  );
  return () => subscriptions.forEach((subscription) => subscription.unsubscribe());
}
