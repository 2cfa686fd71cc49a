/** The head of a chain: its height and time (RFC 3339). */
type Head = Readonly<{ height: number; time: string }>;

/** A head this far ahead of the clock is reported, and a leap of the clock this far. */
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

/** Notices when the machine's clock leaps: when it goes on by other than the monotonic one. */
export class ClockLeaps {
  #offsetMs = offsetMs();

  /** Milliseconds by which it leapt since the last call, below 0 where it was put back; undefined where it did not. */
  next(): number | undefined {
    const now = offsetMs();
    const leapMs = Math.round(now - this.#offsetMs);
    this.#offsetMs = now;
    return Math.abs(leapMs) > reportedMs ? leapMs : undefined;
  }
}

const offsetMs = (): number => Date.now() - performance.now();
