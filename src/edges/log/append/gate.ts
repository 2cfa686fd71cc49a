import { setTimeout as pause } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import { AppError } from '../../../commands/errors.ts';
import type { StreamName } from '../../../events/streams.ts';
import { onBreak } from '../breaks.ts';

/** Waits until a stream may be written to. */
export type Gate = (stream: StreamName) => Promise<void>;

const waitAtMostMs = 10_000;
const askAgainMs = 200;

/**
 * After each break of the connection lets nobody write to a stream before `isWhole` says so: a broker that lost events shows an older
 * state, on which no decision may rest.
 *
 * Fails with `UNAVAILABLE` when that takes long.
 */
export function createGate(nc: NatsConnection, isWhole: (stream: StreamName) => Promise<boolean>): Gate {
  let breaks = 0;
  onBreak(nc, () => (breaks += 1));
  const seenWhole = new Map<StreamName, number>();
  return async (stream) => {
    const deadline = performance.now() + waitAtMostMs;
    while ((seenWhole.get(stream) ?? 0) !== breaks) {
      const before = breaks;
      if (await isWhole(stream).catch(() => false)) seenWhole.set(stream, before);
      else if (performance.now() > deadline)
        throw new AppError('UNAVAILABLE', `${stream} may have lost events; nobody writes to it before they are back`);
      else await pause(askAgainMs);
    }
  };
}
