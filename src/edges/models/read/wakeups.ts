import type pg from 'pg';
import { projectionNames, type ProjectionName } from '../../../projections/projection.ts';
import type { Logger } from '../../kit/logger.ts';
import { listen } from './listen.ts';
import { channelOf, metaSchema } from '../engine/names.ts';
import type { Pools } from '../pool.ts';
import { wait } from '../../kit/wait.ts';

/** A projection that shows more than before, up to a sequence of its stream. */
export type Moved = Readonly<{ projection: ProjectionName; sequence: number }>;

/** Tells when projections moved. */
export type Wakeups = Readonly<{
  /** Calls back at every move; a hint only, moves may come together. Returns what ends it. */
  onMoved: (tell: (moved: Moved) => void) => () => void;
  close: () => Promise<void>;
}>;

const pollEachMs = 500;
const answerWithinMs = 3000;

/** The database as it is listened to and as it is asked. */
export type Woken = Readonly<{ config: pg.ClientConfig; pools: Pools; network: string }>;

/**
 * Listens for moves of a network's live generations, and looks at their checkpoints each half second as well.
 *
 * Never fails: while PostgreSQL is away nothing is told, and afterwards everything that was missed.
 */
export function createWakeups({ config, pools, network }: Woken, log: Logger): Wakeups {
  const listeners = new Set<(moved: Moved) => void>();
  const seen = new Map<string, Readonly<{ generation: number; sequence: number }>>();
  const note = (projection: ProjectionName, generation: number, sequence: number): void => {
    const before = seen.get(projection);
    // A switch may also go back to an earlier generation.
    if (before && before.generation === generation && before.sequence >= sequence) return;
    seen.set(projection, { generation, sequence });
    for (const tell of listeners) tell({ projection, sequence });
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
    // Whatever was said while nobody listened is in the checkpoints.
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
  const asked: pg.QueryConfig & { query_timeout: number } = {
    text: `select projection, generation, position from ${metaSchema(network)}.generations where status = 'live'`,
    query_timeout: answerWithinMs,
  };
  const stop = new AbortController();
  const look = async (): Promise<void> => {
    const { rows } = await write.query<Checkpoint>(asked);
    for (const { projection, generation, position } of rows) note(projection, generation, Number(position));
  };
  const lookQuietly = (): Promise<void> => look().catch(() => undefined);
  const polling = (async () => {
    while (!stop.signal.aborted) {
      await lookQuietly();
      await wait(pollEachMs, stop.signal);
    }
  })();
  return {
    now: () => void lookQuietly(),
    close: async () => {
      stop.abort();
      await polling;
    },
  };
}
