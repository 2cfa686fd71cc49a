import { toAppError } from '../../commands/errors.ts';
import type { Logger } from './logger.ts';
import { wait } from './wait.ts';

/** Does something each so often until the signal aborts; what fails is logged and tried the next time. */
export async function nowAndThen(
  failure: string,
  eachMs: number,
  work: () => Promise<void>,
  { logger, signal }: Readonly<{ logger: Logger; signal: AbortSignal }>,
): Promise<void> {
  while (!signal.aborted) {
    await wait(eachMs, signal);
    if (signal.aborted) return;
    await work().catch((caught: unknown) => logger.warn({ err: toAppError(caught) }, failure));
  }
}
