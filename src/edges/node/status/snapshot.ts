import { within } from '../../../kit/wait.ts';

/**
 * How old an answer may be: as good as new, and as long as there is nothing better; and how long the first one may
 * take.
 */
export type SnapshotAges = Readonly<{ freshMs: number; lastGoodMs: number; firstMs: number }>;

/** The ages of spec 1 but the first, which is a setting. */
export const usualAges = { lastGoodMs: 600_000, firstMs: 8_000 } as const;

/**
 * Something costly that is collected in the background, so that callers rarely wait.
 *
 * While the last good one is fresh it is returned as it is; an older one is returned and collected anew behind the
 * answer. Only when it exceeds the greatest age, or there is none, the caller waits, bounded; undefined where that
 * fails too. However many callers there are, one collection runs.
 *
 * @example const peers = createSnapshot(collectPeers, { freshMs: 30_000, ...usualAges }); await peers()
 */
export function createSnapshot<T>(
  collect: () => Promise<T>,
  { freshMs, lastGoodMs, firstMs }: SnapshotAges,
  now: () => number = () => performance.now(),
): () => Promise<T | undefined> {
  let lastGood: { value: T; atMs: number } | undefined;
  let running: Promise<T> | undefined;
  const refresh = async (): Promise<T> => {
    running ??= collect()
      .then((value) => {
        lastGood = { value, atMs: now() };
        return value;
      })
      .finally(() => (running = undefined));
    return await running;
  };
  return async () => {
    const ageMs = lastGood ? now() - lastGood.atMs : Number.POSITIVE_INFINITY;
    if (lastGood && ageMs < lastGoodMs) {
      // A failure to collect shows by age: the last good one ends, and then the caller gets the failure.
      if (ageMs >= freshMs) refresh().catch(() => undefined);
      return lastGood.value;
    }
    return await within(firstMs, refresh(), 'The snapshot takes too long').catch(() => undefined);
  };
}
