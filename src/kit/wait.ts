import { setTimeout as delay } from 'node:timers/promises';

/**
 * Resolves after some milliseconds (negative ones: at once), or once the signal aborts if sooner; never fails: the
 * caller checks the signal.
 *
 * Keeps the process running unless `ref` is false.
 */
export async function wait(ms: number, signal?: AbortSignal, { ref = true } = {}): Promise<void> {
  await delay(Math.max(0, ms), undefined, signal ? { signal, ref } : { ref }).catch(() => undefined);
}

/** Sets a time limit for work; a later result is dropped, and the wait fails with `message`. */
export async function within<T>(limitMs: number, work: Promise<T>, message: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A countdown that runs: it begins anew, or ends without a word. */
export type Countdown = Readonly<{ restart: () => void; stop: () => void }>;

const ticksPerCountdown = 4;

/**
 * Calls `over` once, after `ms` in which nothing restarted it and `isHeld` was false at each of its four ticks.
 *
 * It blames nobody for a time in which this process stood still: that counts as one tick at most, and whatever came
 * meanwhile is read before `over` is called. Does not keep the process running.
 */
export function countDown(ms: number, over: () => void, isHeld: () => boolean = () => false): Countdown {
  let ticks = 0;
  const end = (): void => {
    if (ticks < ticksPerCountdown || isHeld()) return;
    clearInterval(timer);
    over();
  };
  const tick = (): void => {
    ticks = isHeld() ? 0 : ticks + 1;
    // Timers run before what has come is read, this after it.
    if (ticks >= ticksPerCountdown) setImmediate(end);
  };
  const timer = setInterval(tick, ms / ticksPerCountdown).unref();
  return {
    restart: () => (ticks = 0),
    stop: () => {
      ticks = -Infinity;
      clearInterval(timer);
    },
  };
}

/** Runs work with a signal that aborts after so long; a time in which this process stood still does not count. */
export async function whileAwake<T>(
  limitMs: number,
  outer: AbortSignal | undefined,
  work: (inTime: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const watch = countDown(limitMs, () => late.abort(new Error('no answer in time')));
  try {
    return await work(outer ? AbortSignal.any([outer, late.signal]) : late.signal);
  } finally {
    watch.stop();
  }
}

/** A clock of the time that another party had; it stops between `pause` and `resume`, which may be nested. */
export type AwakeClock = Readonly<{
  /** Where a time ends, in milliseconds: what counts by now. */
  now: () => number;
  /** Where a time that begins with the last check begins: `now` is behind it for as long as nothing after it counts. */
  mark: () => number;
  check: () => void;
  pause: () => void;
  resume: () => void;
}>;

/**
 * A clock that somebody checks every `checkMs`, and that advances by no more from one check to the next, however long
 * this process stood still between them.
 *
 * It is one check behind: a time counts once this process has run for another check after it, and so has read what
 * came meanwhile, in as many turns as that takes.
 */
export function createAwakeClock(checkMs: number): AwakeClock {
  let [awakeMs, lastMs, uncheckedMs, since, paused] = [0, 0, 0, performance.now(), 0];
  const count = (): void => {
    const at = performance.now();
    if (paused === 0) uncheckedMs += at - since;
    since = at;
  };
  const pauseBy = (one: number): void => {
    count();
    paused += one;
  };
  return {
    now: () => awakeMs,
    mark: () => awakeMs + lastMs,
    check: () => {
      count();
      awakeMs += lastMs;
      lastMs = Math.min(uncheckedMs, checkMs);
      uncheckedMs = 0;
    },
    pause: () => pauseBy(1),
    resume: () => pauseBy(-1),
  };
}

/** How long a server requests its client to wait, from seconds or a date; 0 where that is absent or cannot be read. */
export function retryAfterMs(header: string | string[] | undefined): number {
  const text = String(header ?? '').trim();
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return ms > 0 ? ms : 0;
}
