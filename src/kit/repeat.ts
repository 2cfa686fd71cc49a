import { toAppError } from './errors.ts';
import type { Logger } from './logger.ts';
import { wait } from './wait.ts';

/** When the next run starts, what is logged, and what stops the repetition. */
export type Repeating = Readonly<{
  /** From the end of one run to the start of the next. */
  everyMs: number;
  /** Before the first run; at once unless set. */
  firstMs?: number | undefined;
  /** After a run that failed; like `everyMs` unless set. */
  retryMs?: number | undefined;
  /** The share of each pause that chance may subtract: 0 is nothing, 1 all of it. */
  jitter?: number | undefined;
  /** Failures that are waited out; all of them unless set. Any other rejects the repetition. */
  isPassing?: ((caught: unknown) => boolean) | undefined;
  /** Where a failure that is waited out is logged as a warning; nowhere unless set. */
  log?: Logger | undefined;
  signal: AbortSignal;
}>;

/**
 * Runs work again and again, until the signal aborts or a run returns `'done'`; `failure` is the text of the log line
 * of a run that failed.
 *
 * Runs never overlap. What fails after the signal has aborted is neither logged nor thrown.
 *
 * @example await repeat('store was not swept', () => store.sweep(), { everyMs: 600_000, log, signal })
 */
export async function repeat(
  failure: string,
  work: () => Promise<'done' | void>,
  { everyMs, firstMs = 0, retryMs = everyMs, jitter = 0, isPassing = () => true, log, signal }: Repeating,
): Promise<void> {
  for (let pauseMs = firstMs; !signal.aborted;) {
    if (pauseMs > 0) await wait(pauseMs * (1 - Math.random() * jitter), signal);
    if (signal.aborted) return;
    try {
      if ((await work()) === 'done') return;
      pauseMs = everyMs;
    } catch (caught) {
      if (signal.aborted) return;
      if (!isPassing(caught)) throw caught;
      log?.warn({ err: toAppError(caught) }, failure);
      pauseMs = retryMs;
    }
  }
}

/**
 * Calls `read` until it returns something, and returns that; undefined once the signal aborts or the time is over.
 * A failure of `read` rejects it.
 */
export async function poll<T>(
  read: () => Promise<T | undefined> | T | undefined,
  { everyMs, withinMs = Infinity, signal }: Readonly<{ everyMs: number; withinMs?: number; signal?: AbortSignal }>,
): Promise<T | undefined> {
  const deadline = performance.now() + withinMs;
  while (signal?.aborted !== true) {
    const result = await read();
    if (result !== undefined || performance.now() > deadline) return result;
    await wait(everyMs, signal);
  }
  return undefined;
}
