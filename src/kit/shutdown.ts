import { setTimeout as delay } from 'node:timers/promises';
import { watchLifeline } from './lifeline.ts';
import type { Logger } from './logger.ts';

/** One step of shutting down; it is abandoned after `capMs`. */
export type Phase = Readonly<{ name: string; capMs: number; run: () => Promise<unknown> }>;

/**
 * Runs the phases in their order, each within its cap; a phase that fails or hangs is logged and the next one runs.
 *
 * Resolves when all have been tried; never rejects.
 */
export async function shutDown(phases: readonly Phase[], log: Logger): Promise<void> {
  for (const { name, capMs, run } of phases) {
    const cap = new AbortController();
    const late = delay(capMs, 'late', { signal: cap.signal }).catch(() => 'ended');
    try {
      if ((await Promise.race([run(), late])) === 'late') log.warn({ phase: name, capMs }, 'shutdown phase given up');
    } catch (err) {
      log.warn({ phase: name, err }, 'shutdown phase failed');
    }
    cap.abort();
  }
}

/** Rejects with the first exception or rejection that no code caught; later ones are logged. Never resolves. */
export function strayFailure(log: Logger): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  let isFirst = true;
  const onStray = (caught: unknown): void => {
    if (!isFirst) log.error({ err: caught }, 'another error that nobody caught');
    isFirst = false;
    reject(caught instanceof Error ? caught : new Error(String(caught)));
  };
  process.on('uncaughtException', onStray);
  process.on('unhandledRejection', onStray);
  return promise;
}

/** One Ctrl-C comes twice where npm or another supervisor passes on what the whole group has received already. */
const sameWithinMs = 1000;

/**
 * A signal that aborts on SIGINT, SIGTERM or SIGHUP, or when the starting process is gone; the second time, a second
 * later or more, the process exits at once.
 */
export function stopSignal(log: Logger): AbortSignal {
  const controller = new AbortController();
  let firstAt = Infinity;
  const stop = (why: string): void => {
    if (performance.now() - firstAt >= sameWithinMs) process.exit(130);
    if (controller.signal.aborted) return;
    firstAt = performance.now();
    log.info({ why }, 'stopping');
    controller.abort(new Error(why));
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stop(name));
  watchLifeline(() => stop('the starting process is gone'));
  return controller.signal;
}
