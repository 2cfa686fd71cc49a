/** Decides from what appends took whether many of them go faster as one group. */
export type Pace = Readonly<{
  /** Whether a group of so many is the faster way. */
  isForGroup: (size: number) => boolean;
  /** An append on its own took so long, with so many under way when it was sent, itself counted. */
  alone: (tookMs: number, underWay: number) => void;
  /** A group took so long. */
  grouped: (tookMs: number) => void;
}>;

/** With fewer, a group never pays: the broker writes it to disk four times. */
const leastGroup = 16;
/** What a group takes at least, about. */
const quietGroupMs = 16;

/**
 * A pace that knows nothing yet and so sends all alone.
 *
 * A broker that writes to disk before each acknowledgement does so for every message, so that many on their own wait
 * for as many writes; a group waits for the same few, however large it is. Which is faster depends on the disk and on
 * its neighbours.
 */
export function createPace(): Pace {
  let aloneMs = 0;
  let groupMs = quietGroupMs;
  return {
    isForGroup: (size) => size >= leastGroup && size * aloneMs > groupMs,
    alone: (tookMs, underWay) => {
      if (underWay < leastGroup) return;
      aloneMs += (tookMs / underWay - aloneMs) / 256;
      // A slow group is forgotten in time, else none would be tried again; both slowly, for a stall of the machine says
      // nothing.
      groupMs += (quietGroupMs - groupMs) / 8192;
    },
    grouped: (tookMs) => {
      groupMs += (tookMs - groupMs) / 4;
    },
  };
}
