import type { IncomingMessage } from 'node:http';
import { AppError } from '../../../kit/errors.ts';

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
  const { now, look, ownTime } = createSenderClock(2 * eachMs);
  let advanced = { at: now(), bytes: socket.bytesRead };
  let window = advanced;
  const check = (): void => {
    if (request.complete) return;
    look();
    const seen = { at: now(), bytes: socket.bytesRead };
    if (seen.bytes > advanced.bytes) advanced = seen;
    if (seen.at - advanced.at >= stallMs) reject(slow(`no byte came for ${stallMs / 1000} seconds`));
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
  const timer = setInterval(check, eachMs);
  const reading = read(ownTime);
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

/**
 * Milliseconds in which the sender could have sent: the clock stops while work of ours is awaited, and goes on by
 * `mostMs` from one look to the next at most. Between two looks whatever has come is read.
 */
function createSenderClock(mostMs: number): Readonly<{ now: () => number; look: () => void; ownTime: OwnTime }> {
  let senderMs = 0;
  let [unlookedMs, since, working] = [0, performance.now(), 0];
  const count = (): void => {
    const at = performance.now();
    if (working === 0) unlookedMs += at - since;
    since = at;
  };
  const look = (): void => {
    count();
    senderMs += Math.min(unlookedMs, mostMs);
    unlookedMs = 0;
  };
  const ownTime: OwnTime = async (work) => {
    count();
    working += 1;
    try {
      return await work;
    } finally {
      count();
      working -= 1;
    }
  };
  return { now: () => senderMs, look, ownTime };
}

function slow(how: string): AppError {
  return new AppError('REQUEST_TIMEOUT', `The body came too slowly: ${how}. Upload again`);
}
