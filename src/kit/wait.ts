import { setTimeout as delay } from 'node:timers/promises';

/**
 * Resolves after some milliseconds, or once the signal aborts if sooner; never fails: the caller checks the signal.
 *
 * Keeps the process running unless `ref` is false.
 */
export async function wait(ms: number, signal?: AbortSignal, { ref = true } = {}): Promise<void> {
  await delay(ms, undefined, signal ? { signal, ref } : { ref }).catch(() => undefined);
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
