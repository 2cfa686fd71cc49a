import { AppError } from '../../../kit/errors.ts';
import { wait } from '../../../kit/wait.ts';

const retryMs = 1_000;

/**
 * Repeats a question until the chain answers it: a transfer waits for its chain, however long.
 *
 * Fails when the signal aborts, and for whatever is not `UNAVAILABLE`.
 */
export async function untilAnswered<T>(question: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await question();
    } catch (caught) {
      signal.throwIfAborted();
      if (!(caught instanceof AppError) || caught.code !== 'UNAVAILABLE') throw caught;
      await wait(retryMs, signal);
      signal.throwIfAborted();
    }
  }
}
