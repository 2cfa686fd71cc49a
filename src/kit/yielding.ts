import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long work runs before others are served. */
const usualMs = 1;

/**
 * Makes a function that long work calls between its steps: it lets others run once the work has run for a while.
 *
 * @example const rest = createYielding(); for (const one of many) { await rest(); work(one); }
 */
export function createYielding(everyMs = usualMs): () => Promise<void> | undefined {
  let since = performance.now();
  const yieldNow = async (): Promise<void> => {
    await nextTurn();
    since = performance.now();
  };
  return () => (performance.now() - since > everyMs ? yieldNow() : undefined);
}
