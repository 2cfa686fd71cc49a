import type { Reading } from '../../reading.ts';

/**
 * Keeps something of looks at one database while the actions stand where they are; at another position it begins anew.
 *
 * What was read may be put into it once the look is `confirmed`.
 *
 * @example const kept = keptAtPosition(() => new Map<string, number>())
 */
export function keptAtPosition<T>(fresh: () => T): (reading: Reading) => T {
  const known = new WeakMap<object, Readonly<{ at: string; value: T }>>();
  return ({ reader, schemas, followed }) => {
    const at = JSON.stringify([schemas.actions, followed.actions]);
    const before = known.get(reader);
    if (before?.at === at) return before.value;
    const value = fresh();
    known.set(reader, { at, value });
    return value;
  };
}
