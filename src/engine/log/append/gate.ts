import type { NatsConnection } from '@nats-io/transport-node';
import { wait } from '../../../kit/wait.ts';
import { AppError } from '../../../kit/errors.ts';
import type { StreamName } from '../../../events/streams.ts';
import { onBreak } from '../breaks.ts';

/** Waits until a stream may be written to. */
export type Gate = (stream: StreamName) => Promise<void>;

/** Returns what prevents writes to a stream, as the end of a sentence; undefined when nothing does. */
type Obstacle = (stream: StreamName) => Promise<string | undefined>;

const waitAtMostMs = 10_000;
const requestAgainMs = 200;

/**
 * At first, and again after each break of the connection, holds back all writes to a stream until there is certainly no
 * obstacle: a broker that lost events shows an older state, on which no decision may rest.
 *
 * An obstacle that cannot be determined counts as one. Fails with `UNAVAILABLE` when that takes long.
 */
export function createGate(
  nc: NatsConnection,
  obstacleOf: Obstacle,
  { giveUpAfterMs = waitAtMostMs }: Readonly<{ giveUpAfterMs?: number }> = {},
): Gate {
  let breaks = 1;
  onBreak(nc, () => (breaks += 1));
  const seenComplete = new Map<StreamName, number>();
  return async (stream) => {
    const deadline = performance.now() + giveUpAfterMs;
    while (seenComplete.get(stream) !== breaks) {
      const before = breaks;
      const obstacle = await obstacleOf(stream).catch(saying);
      if (obstacle === undefined) seenComplete.set(stream, before);
      else if (performance.now() > deadline)
        throw new AppError('UNAVAILABLE', `Nobody writes to ${stream} at present: ${obstacle}`);
      else await wait(requestAgainMs);
    }
  };
}

const saying = (caught: unknown): string =>
  `it is not known whether it is whole (${caught instanceof Error ? caught.message : String(caught)})`;
