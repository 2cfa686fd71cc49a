import type { IncomingMessage } from 'node:http';
import { AppError } from '../../../commands/errors.ts';

/** How slowly a body may come. */
export type Pace = Readonly<{
  /** Without a byte for so long it is given up. */
  stallMs: number;
  /** Bytes a second, over the window. */
  minRate: number;
  windowMs?: number;
}>;

const usualWindowMs = 30_000;

/**
 * Waits for what reads a request's body, and fails with `REQUEST_TIMEOUT` as soon as the body comes too slowly, with
 * `INVALID_ARGUMENT` once its sender is gone.
 *
 * What reads it goes on then until the connection ends: answer with `Connection: close`. A body that has come whole is
 * watched no longer.
 */
export async function withPace<T>(request: IncomingMessage, pace: Pace, reading: Promise<T>): Promise<T> {
  const { stallMs, minRate, windowMs = usualWindowMs } = pace;
  const { socket } = request;
  const { promise: tooSlow, reject } = Promise.withResolvers<never>();
  const now = performance.now();
  let moved = { at: now, bytes: socket.bytesRead };
  let window = moved;
  const look = (): void => {
    if (request.complete) return;
    const seen = { at: performance.now(), bytes: socket.bytesRead };
    if (seen.bytes > moved.bytes) moved = seen;
    if (seen.at - moved.at >= stallMs) reject(slow(`no byte came for ${stallMs / 1000} seconds`));
    if (seen.at - window.at < windowMs) return;
    const rate = ((seen.bytes - window.bytes) * 1000) / (seen.at - window.at);
    if (rate < minRate) reject(slow(`it came with less than ${minRate} bytes a second`));
    window = seen;
  };
  const leave = (): void => {
    if (!request.complete) reject(new AppError('INVALID_ARGUMENT', 'The form was cut off'));
  };
  if (socket.destroyed) leave();
  socket.once('close', leave);
  const timer = setInterval(look, Math.min(1_000, stallMs / 4, windowMs / 4));
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

function slow(how: string): AppError {
  return new AppError('REQUEST_TIMEOUT', `The body came too slowly: ${how}. Upload again`);
}
