/** Values that follow from a text alone: the same text gives the same sequence for ever. */
export type Random = Readonly<{
  /** From 0 up to 1, without it. */
  fraction: () => number;
  /** An integer, both ends included. */
  between: (least: number, most: number) => number;
  pick: <T>(items: readonly [T, ...T[]]) => T;
  bytes: (count: number) => Buffer;
}>;

/**
 * A generator (mulberry32) whose seed is the hash (FNV-1a) of a text.
 *
 * @example randomOf('1/timeline').between(3, 12)
 */
export function randomOf(text: string): Random {
  let state = 0x811c9dc5;
  for (const byte of Buffer.from(text)) state = Math.imul(state ^ byte, 0x01000193);
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (least: number, most: number): number => least + Math.floor(fraction() * (most - least + 1));
  return {
    fraction,
    between,
    pick: (items) => items[between(0, items.length - 1)] ?? items[0],
    bytes: (count) => Buffer.from(Array.from({ length: count }, () => between(0, 255))),
  };
}
