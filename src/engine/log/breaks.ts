import { JetStreamApiError } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { AppError } from '../../kit/errors.ts';

/** Error codes of the broker's API by their meaning; the descriptions may change, the numbers do not. */
export const codes = {
  clusterIncomplete: 10_004,
  noSuitablePeers: 10_005,
  notAvailable: 10_008,
  noLeader: 10_009,
  insufficientResources: 10_023,
  memoryExceeded: 10_028,
  notEnabledForAccount: 10_039,
  storageExceeded: 10_047,
  nameTaken: 10_058,
  streamNotFound: 10_059,
  wrongLastSequence: 10_071,
  replicasNeedCluster: 10_074,
  notEnabled: 10_076,
  /** A full stream, a conflict or a failed write to disk: only the description distinguishes them. */
  storeFailed: 10_077,
  streamOffline: 10_118,
  sequenceInFlight: 10_164,
  tooManyRequests: 10_167,
  batchIncomplete: 10_176,
  batchRepeatsId: 10_201,
  tooManyBatches: 10_210,
} as const;

/** Returns whether the broker refused with one of some codes. */
export function refusedWith(caught: unknown, ...meanings: readonly (keyof typeof codes)[]): boolean {
  return caught instanceof JetStreamApiError && meanings.some((meaning) => codes[meaning] === caught.code);
}

type Listener = (why: string) => void;
const listeners = new WeakMap<NatsConnection, Set<Listener>>();

/**
 * Calls the listener when a connection breaks, comes back or is closed; the client forgets what it had not sent by
 * then, and consumers may be gone.
 *
 * Returns a function that removes the listener.
 */
export function onBreak(nc: NatsConnection, listener: Listener): () => void {
  const all = listeners.get(nc) ?? startListening(nc);
  all.add(listener);
  return () => all.delete(listener);
}

/**
 * Makes every request of a connection fail with `UNAVAILABLE` as soon as a break loses its answer, where the client
 * would wait out its timeout: those of its own, and those of the streams and buckets that use it.
 */
export function failRequestsAtBreak(nc: NatsConnection): void {
  const request = nc.request.bind(nc);
  nc.request = async (...asked) => {
    const { promise: broken, reject } = Promise.withResolvers<never>();
    const stop = onBreak(nc, (why) => reject(new AppError('UNAVAILABLE', why)));
    try {
      return await Promise.race([request(...asked), broken]);
    } finally {
      stop();
    }
  };
}

function startListening(nc: NatsConnection): Set<Listener> {
  const all = new Set<Listener>();
  listeners.set(nc, all);
  void reportBreaks(nc, all);
  return all;
}

async function reportBreaks(nc: NatsConnection, all: ReadonlySet<Listener>): Promise<void> {
  const report = (why: string): void => {
    for (const listener of all) listener(why);
  };
  for await (const { type } of nc.status())
    if (type === 'disconnect' || type === 'reconnect') report('the connection broke');
  report('the connection was closed');
}
