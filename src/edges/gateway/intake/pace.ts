import type { IncomingMessage } from 'node:http';
import { AppError } from '../../../kit/errors.ts';
import { type AwakeClock, createAwakeClock } from '../../../kit/wait.ts';

/** How slowly a body may come. */
export type Pace = Readonly<{
  /** A body that sends no byte for so long is abandoned. */
  stallMs: number;
  /** Bytes a second, over the window. */
  minRate: number;
  windowMs?: number;
}>;

/** Awaits work of ours, such as a question to the chain or a write to the disk; its time is not the sender's. */
export type OwnTime = <T>(work: Promise<T>) => Promise<T>;

const usualWindowMs = 30_000;

/**
 * Runs the reader of a request's body, and fails with `REQUEST_TIMEOUT` as soon as the body comes too slowly, with
 * `INVALID_ARGUMENT` once its sender is gone.
 *
 * Only the time in which the reader waits for bytes counts: what it awaits through `ownTime` does not, nor does a time
 * in which this process stood still. After a failure the reader continues until the connection ends: answer with
 * `Connection: close`. A complete body is watched no longer.
 */
export async function withPace<T>(
  request: IncomingMessage,
  pace: Pace,
  read: (ownTime: OwnTime) => Promise<T>,
): Promise<T> {
  const { stallMs, minRate, windowMs = usualWindowMs } = pace;
  const { socket } = request;
  const { promise: tooSlow, reject } = Promise.withResolvers<never>();
  const eachMs = Math.min(1_000, stallMs / 4, windowMs / 4);
  const clock = createAwakeClock(eachMs);
  let advanced = { at: clock.mark(), bytes: socket.bytesRead };
  let window = advanced;
  const check = (): void => {
    if (request.complete) return;
    clock.check();
    const [now, seen] = [clock.now(), { at: clock.mark(), bytes: socket.bytesRead }];
    if (seen.bytes > advanced.bytes) advanced = seen;
    if (now - advanced.at >= stallMs) reject(slow(`no byte came for ${stallMs / 1000} seconds`));
    if (now - window.at < windowMs) return;
    const rate = ((seen.bytes - window.bytes) * 1000) / (now - window.at);
    if (rate < minRate) reject(slow(`it came with less than ${minRate} bytes a second`));
    window = seen;
  };
  const leave = (): void => {
    if (!request.complete) reject(new AppError('INVALID_ARGUMENT', 'The form was cut off'));
  };
  if (socket.destroyed) leave();
  socket.once('close', leave);
  const timer = setInterval(check, eachMs);
  const reading = read(ownTimeOf(clock));
  try {
    return await Promise.race([reading, tooSlow]);
  } catch (caught) {
    reading.catch(() => undefined);
    throw caught;
  } finally {
    clearInterval(timer);
    socket.off('close', leave);
  }
}

/** Stops the clock while work of ours is awaited. */
function ownTimeOf({ pause, resume }: AwakeClock): OwnTime {
  return async (work) => {
    pause();
    try {
      return await work;
    } finally {
      resume();
    }
  };
}

function slow(how: string): AppError {
  return new AppError('REQUEST_TIMEOUT', `The body came too slowly: ${how}. Upload again`);
}
