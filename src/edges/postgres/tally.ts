/** Sums by name. */
export type Tally = Readonly<{
  /** Adds as much to each name. */
  add: (names: readonly string[], much: number) => void;
  /** All sums that are not zero. */
  sums: () => [name: string, n: number][];
}>;

/** Makes an empty tally: each sum lies in a box of its own, so that to add to it takes one look-up. */
export function createTally(): Tally {
  const boxes = new Map<string, { n: number }>();
  return {
    add: (names, much) => {
      for (const name of names) {
        const box = boxes.get(name);
        if (box) box.n += much;
        else boxes.set(name, { n: much });
      }
    },
    sums: () => [...boxes].flatMap(([name, { n }]) => (n === 0 ? [] : [[name, n]])),
  };
}
