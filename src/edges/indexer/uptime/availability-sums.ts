import { dayOf, daySeconds, decidedSpan, secondOf, spokenBy, startOfDay } from '../../../commands/uptime/definition.ts';
import type { UptimeOpenRow } from '../../../projections/tables.ts';
import type { UptimeWindow } from './window.ts';

/** Seconds and probes of some time. */
export type UptimeSums = Readonly<{ up: number; down: number; probes: number; failed: number }>;

/** Nothing is known. */
export const noSums: UptimeSums = { up: 0, down: 0, probes: 0, failed: 0 };

/** Adds up what is known of two times. */
export function addSums(one: UptimeSums, other: UptimeSums): UptimeSums {
  return {
    up: one.up + other.up,
    down: one.down + other.down,
    probes: one.probes + other.probes,
    failed: one.failed + other.failed,
  };
}

/**
 * What is known of the days that are not closed, by day: what the last probe carries, and the time after it for which
 * it speaks, up to the end of the window.
 */
export function openSums(
  open: UptimeOpenRow | null | undefined,
  window: UptimeWindow,
): ReadonlyMap<string, UptimeSums> {
  const sums = new Map<string, UptimeSums>();
  if (!open) return sums;
  for (const { day, up, down, probes, failed } of open.days) sums.set(day, { up, down, probes, failed });
  const counted = open.counted_until === null ? -Infinity : secondOf(open.counted_until);
  const probe = { at: open.probed_at, hasPassed: open.passed, ports: [], statusAnswer: '' };
  const { from, to } = decidedSpan(
    spokenBy({ ...probe, everySeconds: open.every_seconds ?? undefined }),
    counted,
    window.to,
  );
  for (let start = from; start < to;) {
    const day = dayOf(start);
    const stop = Math.min(to, startOfDay(day) + daySeconds);
    const seconds = { ...noSums, [open.passed ? 'up' : 'down']: stop - start };
    sums.set(day, addSums(sums.get(day) ?? noSums, seconds));
    start = stop;
  }
  return sums;
}

/** Ratios of some seconds of a time: of what is known, and how much is known; null where there is nothing to divide. */
export function ratiosOf({ up, down }: Pick<UptimeSums, 'up' | 'down'>, seconds: number) {
  return {
    up_seconds: up,
    down_seconds: down,
    unknown_seconds: seconds - up - down,
    availability: up + down === 0 ? null : up / (up + down),
    coverage: seconds === 0 ? null : (up + down) / seconds,
  };
}
