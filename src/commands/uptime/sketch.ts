import type { FactOf } from '../../events/catalogue.ts';

/** A DDSketch as facts hold it. */
export type TimeSketch = NonNullable<FactOf<'day'>['data']['took']>;

/** Relative error of a percentile at most. */
const relativeError = 0.02;
const growth = (1 + relativeError) / (1 - relativeError);

/**
 * Sums up times in milliseconds as a DDSketch (Masson, Rim, Lee, VLDB 2019): numbers by logarithmic buckets.
 *
 * The same times in any order, and sketches merged in any order, give the same sketch. Times below a millisecond count
 * as one.
 *
 * @example percentilesOf([sketchOf([10, 20, 30])], [0.5]) // [20.0…], within 2 %
 */
export function sketchOf(times: Iterable<number>): TimeSketch {
  const counts = new Map<number, number>();
  for (const time of times) {
    const bucket = Math.ceil(Math.log(Math.max(time, 1)) / Math.log(growth));
    counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
  }
  const buckets = [...counts.keys()].toSorted((a, b) => a - b);
  return { buckets, counts: buckets.map((bucket) => counts.get(bucket) ?? 0) };
}

/**
 * The times, in milliseconds, that these shares of all times of some sketches do not exceed, each within 2 %; undefined
 * where there is no time. A share p is that of the time at index ⌊p (n − 1)⌋ of n in order.
 */
export function percentilesOf(sketches: readonly TimeSketch[], shares: readonly number[]): number[] | undefined {
  const sums = new Map<number, number>();
  for (const { buckets, counts } of sketches)
    for (const [at, bucket] of buckets.entries()) sums.set(bucket, (sums.get(bucket) ?? 0) + (counts[at] ?? 0));
  const total = [...sums.values()].reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  const ordered = [...sums].toSorted(([a], [b]) => a - b);
  return shares.map((share) => {
    const rank = Math.floor(share * (total - 1));
    let before = 0;
    const [bucket = 0] = ordered.find(([, count]) => (before += count) > rank) ?? [];
    return Math.round(((2 * growth ** bucket) / (growth + 1)) * 10_000) / 10_000;
  });
}
