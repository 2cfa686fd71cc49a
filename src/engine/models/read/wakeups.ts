import type pg from 'pg';
import pgListen from 'pg-listen';
import { type ProjectionName, projectionNames } from '../../../projections/projection.ts';
import type { Logger } from '../../../kit/logger.ts';
import { repeat } from '../../../kit/repeat.ts';
import { channelOf, metaSchema } from '../engine/generations.ts';
import type { Pools } from '../pool.ts';

/** A projection that shows more than before, up to a sequence of its stream. */
export type ModelAdvanced = Readonly<{ projection: ProjectionName; sequence: number }>;

/** Notifies listeners when projections advance. */
type Wakeups = Readonly<{
  /** Calls back at every move; a hint only, moves may come together. Returns what ends it. */
  onMoved: (report: (advanced: ModelAdvanced) => void) => () => void;
  close: () => Promise<void>;
}>;

const pollEachMs = 500;
const answerWithinMs = 3000;

/** The database: `config` for the connection that listens, `pools` for queries. */
type Woken = Readonly<{ config: pg.ClientConfig; pools: Pools; network: string }>;

/**
 * Listens for notifications of a network's live generations, and reads their checkpoints each half second as well.
 *
 * Never fails: while PostgreSQL is away it sends no notifications, and afterwards those of everything that was missed.
 */
export function createWakeups({ config, pools, network }: Woken, log: Logger): Wakeups {
  const listeners = new Set<(changed: ModelAdvanced) => void>();
  const seen = new Map<string, Readonly<{ generation: number; sequence: number }>>();
  const note = (projection: ProjectionName, generation: number, sequence: number): void => {
    const before = seen.get(projection);
    // A switch may also go back to an earlier generation.
    if (before && before.generation === generation && before.sequence >= sequence) return;
    seen.set(projection, { generation, sequence });
    for (const notify of listeners) notify({ projection, sequence });
  };
  const connection = {
    ...config,
    application_name: 'annals wake-ups',
    keepAlive: true,
    connectionTimeoutMillis: answerWithinMs,
    query_timeout: answerWithinMs,
  };
  const poll = pollCheckpoints(pools, network, note);
  const listening = listen(connection, {
    channel: channelOf(network),
    log,
    onPayload: (payload) => {
      const { p, g, s } = Object(payload);
      if (isProjection(p) && Number.isSafeInteger(g) && Number.isSafeInteger(s)) note(p, g, s);
    },
    // The checkpoints hold whatever was announced while nothing listened.
    onConnected: poll.now,
  });
  return {
    onMoved: (tell) => {
      listeners.add(tell);
      return () => listeners.delete(tell);
    },
    close: async () => {
      listeners.clear();
      await Promise.all([poll.close(), listening.close()]);
    },
  };
}

const isProjection = (name: unknown): name is ProjectionName => projectionNames.some((known) => known === name);

type Note = (projection: ProjectionName, generation: number, sequence: number) => void;
type Checkpoint = Readonly<{ projection: ProjectionName; generation: number; position: string }>;

function pollCheckpoints({ write }: Pools, network: string, note: Note) {
  const request: pg.QueryConfig & { query_timeout: number } = {
    text: `select projection, generation, position from ${metaSchema(network)}.generations where status = 'live'`,
    query_timeout: answerWithinMs,
  };
  const stop = new AbortController();
  const check = async (): Promise<void> => {
    const { rows } = await write.query<Checkpoint>(request);
    for (const { projection, generation, position } of rows) note(projection, generation, Number(position));
  };
  const polling = repeat('checkpoints were not read', check, { everyMs: pollEachMs, signal: stop.signal });
  return {
    now: () => void check().catch(() => undefined),
    close: async () => {
      stop.abort();
      await polling;
    },
  };
}

type Listening = Readonly<{
  channel: string;
  log: Logger;
  onPayload: (payload: unknown) => void;
  /** Is called after the first connection and after each further one: notifications in between are lost. */
  onConnected: () => void;
}>;

const anewAfterMs = 1000;
const checkEachMs = 5000;
const retryMs = { first: 50, longest: 5000 };

/**
 * Listens on a channel for as long as it is not closed, whatever happens to the server.
 *
 * This lifts the library's own limits, which would end it after three seconds without a server; where it fails all the
 * same, another subscriber replaces it. Connect to PostgreSQL itself, not to a pooler of transactions.
 */
function listen(config: pg.ClientConfig, listening: Listening): { close: () => Promise<void> } {
  let isClosed = false;
  let again: NodeJS.Timeout | undefined;
  let current = subscribe(config, listening, replace);
  function replace(err: unknown): void {
    if (isClosed) return;
    listening.log.warn({ err }, 'listening to PostgreSQL begins anew');
    again = setTimeout(() => (current = subscribe(config, listening, replace)), anewAfterMs);
  }
  return {
    close: async () => {
      isClosed = true;
      clearTimeout(again);
      await current.close();
    },
  };
}

/** One subscriber, until it fails beyond repair, which it reports once, or is closed. */
function subscribe(
  config: pg.ClientConfig,
  { channel, onPayload, onConnected }: Listening,
  onFailed: (err: unknown) => void,
) {
  let isDone = false;
  const subscriber = pgListen.default(config, {
    retryTimeout: 0,
    retryLimit: Infinity,
    paranoidChecking: checkEachMs,
    parse: parseQuietly,
    retryInterval: (attempt) => {
      // Nothing else ends the attempts of a subscriber that was closed while it was reconnecting.
      if (isDone) throw new Error('Closed while reconnecting');
      return Math.min(retryMs.longest, retryMs.first * 2 ** attempt) * (0.5 + Math.random() / 2);
    },
  });
  const end = async (): Promise<void> => {
    isDone = true;
    await subscriber.close().catch(() => undefined);
  };
  const fail = (err: unknown): void => {
    if (isDone) return;
    void end();
    onFailed(err);
  };
  subscriber.notifications.on(channel, onPayload);
  subscriber.events.on('error', fail);
  subscriber.events.on('connected', () => {
    void (isDone ? end() : Promise.resolve(subscriber.listenTo(channel)).then(onConnected, fail));
  });
  // A first attempt that fails is repeated like any other.
  subscriber.connect().catch(() => undefined);
  return { close: end };
}

function parseQuietly(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
