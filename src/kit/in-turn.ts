/** Runs works of one key one after the other, those of different keys beside each other. */
export type InTurn = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/**
 * Makes turns; a work that fails does not keep the next one from running.
 *
 * @example const inTurn = createInTurn(); await inTurn(hash, () => write(hash))
 */
export function createInTurn(): InTurn {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const before = last.get(key) ?? Promise.resolve();
    const own = before.then(work, work);
    last.set(key, own);
    try {
      return await own;
    } finally {
      if (last.get(key) === own) last.delete(key);
    }
  };
}
