import type { Count } from '../../../projections/projection.ts';

/** Sums by name. */
export type Tally = Readonly<{
  /** Adds counts as many times. */
  add: (counts: readonly Count[], times: number) => void;
  /** All sums that are not zero. */
  sums: () => Iterable<readonly [name: string, n: number]>;
}>;

/** Makes an empty tally: each sum lies in a box of its own, so that to add to it takes one look-up. */
export function createTally(): Tally {
  const boxes = new Map<string, { n: number }>();
  return {
    add: (counts, times) => {
      for (const count of counts) {
        const [name, much] = typeof count === 'string' ? [count, times] : [count[0], count[1] * times];
        const box = boxes.get(name);
        if (box) box.n += much;
        else boxes.set(name, { n: much });
      }
    },
    sums: function* () {
      for (const [name, { n }] of boxes) if (n !== 0) yield [name, n];
    },
  };
}
