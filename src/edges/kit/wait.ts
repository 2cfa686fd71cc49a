import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits for some milliseconds, or until the signal aborts if that is sooner; never fails, so whoever goes on asks the
 * signal.
 */
export async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}
