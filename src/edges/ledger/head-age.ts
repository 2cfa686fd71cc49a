/** The head of a chain: its height and time (RFC 3339). */
type Head = Readonly<{ height: number; time: string }>;

/** A head this far ahead of the clock is reported: one of them has leapt. */
const reportedMs = 5_000;

/**
 * Measures how long ago the head was sealed, also where the machine's clock leaps.
 *
 * A clock that was ahead leaves a head of the future. Its age then counts from when this process first saw it, on the
 * monotonic clock, so that blocks continue at their pace.
 */
export class HeadAge {
  #height = -1;
  #seenAt = 0;

  /** Milliseconds, never below 0. */
  of({ height, time }: Head): number {
    if (height !== this.#height) [this.#height, this.#seenAt] = [height, performance.now()];
    return Math.max(Date.now() - Date.parse(time), performance.now() - this.#seenAt);
  }
}

/** How many milliseconds a head is ahead of the clock; undefined where that is what clocks usually differ by. */
export function leadOf({ time }: Pick<Head, 'time'>): number | undefined {
  const leadMs = Date.parse(time) - Date.now();
  return leadMs > reportedMs ? leadMs : undefined;
}
