/** Runs work once for all who request it under one key at the same time. */
export type SharedWork<T> = (key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>) => Promise<T>;

type Running<T> = { result: Promise<T>; callers: number; stop: AbortController };

/**
 * Makes shared work: who comes while it runs has the same result, or the same failure; who comes later has it done
 * anew.
 *
 * A caller whose signal aborts leaves with its reason; the signal of the work aborts once the last one has left.
 *
 * @example const shared = createSharedWork<Manifest>(); await shared(actionId, signal, (all) => read(actionId, all))
 */
export function createSharedWork<T>(): SharedWork<T> {
  const open = new Map<string, Running<T>>();
  const start = (key: string, work: (signal: AbortSignal) => Promise<T>): Running<T> => {
    const stop = new AbortController();
    const one: Running<T> = { result: work(stop.signal), callers: 0, stop };
    const forget = (): void => void (open.get(key) === one && open.delete(key));
    one.result.then(forget, forget);
    stop.signal.addEventListener('abort', forget);
    open.set(key, one);
    return one;
  };
  return async (key, signal, work) => {
    signal.throwIfAborted();
    const one = open.get(key) ?? start(key, work);
    one.callers += 1;
    const left = Promise.withResolvers<never>();
    const leave = (): void => left.reject(signal.reason);
    signal.addEventListener('abort', leave);
    try {
      return await Promise.race([one.result, left.promise]);
    } finally {
      signal.removeEventListener('abort', leave);
      one.callers -= 1;
      if (one.callers === 0) one.stop.abort(new Error('nobody waits for it any more'));
    }
  };
}
