import { AppError } from './errors.ts';

/** So many at a time, first come first served. */
export type Slots = Readonly<{
  /**
   * Runs work in a slot of its own; fails with `CANCELLED`, and runs nothing, when the signal aborts before there is
   * one.
   */
  run: <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;
}>;

/**
 * Makes slots; `what` names in a sentence what waits for them.
 *
 * @example const builds = createSlots(2, 'A rebuild'); await builds.run(() => rebuild(), signal)
 */
export function createSlots(size: number, what: string): Slots {
  let free = size;
  const waiting: PromiseWithResolvers<void>[] = [];
  const refusal = (): AppError => new AppError('CANCELLED', `${what} was cancelled before its turn came`);
  const take = async (signal: AbortSignal): Promise<void> => {
    if (signal.aborted) throw refusal();
    if (free > 0) {
      free -= 1;
      return;
    }
    const turn = Promise.withResolvers<void>();
    const leave = (): void => {
      if (!waiting.includes(turn)) return;
      waiting.splice(waiting.indexOf(turn), 1);
      turn.reject(refusal());
    };
    waiting.push(turn);
    signal.addEventListener('abort', leave, { once: true });
    await turn.promise.finally(() => signal.removeEventListener('abort', leave));
  };
  const give = (): void => {
    const next = waiting.shift();
    if (next) next.resolve();
    else free += 1;
  };
  return {
    run: async (work, signal) => {
      await take(signal);
      try {
        return await work();
      } finally {
        give();
      }
    },
  };
}
