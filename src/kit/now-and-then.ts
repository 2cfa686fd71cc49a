import { toAppError } from './errors.ts';
import type { Logger } from './logger.ts';
import { wait } from './wait.ts';

/**
 * Does something each so often until the signal aborts, for the first time after `firstMs`; what fails is logged and
 * tried the next time.
 */
export async function nowAndThen(
  failure: string,
  eachMs: number,
  work: () => Promise<void>,
  { logger, signal, firstMs = eachMs }: Readonly<{ logger: Logger; signal: AbortSignal; firstMs?: number }>,
): Promise<void> {
  for (let waitMs = firstMs; !signal.aborted; waitMs = eachMs) {
    await wait(waitMs, signal);
    if (signal.aborted) return;
    await work().catch((caught: unknown) => logger.warn({ err: toAppError(caught) }, failure));
  }
}
