import type { Reading } from '../../reading.ts';

/**
 * Caches what was read of one database for as long as the actions stand at one position; at another it begins anew.
 *
 * What was read may be put into it once the reading is `confirmed`.
 *
 * @example const cache = cachedAtPosition(() => new Map<string, number>())
 */
export function cachedAtPosition<T>(fresh: () => T): (reading: Reading) => T {
  const cached = new WeakMap<object, Readonly<{ position: string; value: T }>>();
  return ({ reader, schemas, followed }) => {
    const position = JSON.stringify([schemas.actions, followed.actions]);
    const before = cached.get(reader);
    if (before?.position === position) return before.value;
    const value = fresh();
    cached.set(reader, { position, value });
    return value;
  };
}
