import { dayOf, daySeconds, secondOf, startOfDay } from '../../../commands/uptime/definition.ts';
import { AppError } from '../../../kit/errors.ts';
import type { Instant } from '../../http/instant.ts';
import { shown } from '../../http/parameters.ts';

/** Some time in seconds since 1970: from the start of a day in UTC, up to the newest probe or the end of a day. */
export type UptimeWindow = Readonly<{ from: number; to: number }>;

/** The parameters that name a window. */
export type WindowParameters = Readonly<{
  window?: string | undefined;
  from?: Instant | undefined;
  to?: Instant | undefined;
}>;

/** The most days that an answer is about. */
export const mostDays = 400;
const usualDays = 30;

/**
 * The window that a request names; undefined where no probe is known and it names no end.
 *
 * It starts at midnight and ends at the newest probe that is known, or at the end of a day before that. An end beyond
 * the newest probe is taken as it is: nothing is known of the time after it.
 */
export function readWindow(query: WindowParameters, newest: string | undefined): UptimeWindow | undefined {
  const { from, to } = query;
  const days = readDays(query);
  const last = newest === undefined ? to?.seconds : secondOf(newest);
  if (last === undefined) return undefined;
  const end = to === undefined ? last : endOf(to.seconds, last);
  const start = from === undefined ? midnightOf(end - 1) - (days - 1) * daySeconds : midnightOf(from.seconds);
  if (start >= end) return { from: start, to: start };
  if (end - start > mostDays * daySeconds) throw tooLong();
  return { from: start, to: end };
}

/** The days that a window touches, as texts. */
export function daysOf({ from, to }: UptimeWindow): Readonly<{ fromDay: string; toDay: string }> {
  return { fromDay: dayOf(from), toDay: dayOf(Math.max(from, to - 1)) };
}

function readDays({ window, from }: WindowParameters): number {
  if (window === undefined) return usualDays;
  if (from !== undefined)
    throw new AppError('INVALID_ARGUMENT', 'window and from exclude each other; leave one of them out.');
  const days = Number(/^([1-9]\d{0,2})d$/.exec(window)?.[1] ?? 0);
  if (days < 1 || days > mostDays)
    throw new AppError('INVALID_ARGUMENT', `window is ${shown(window)}; it takes days from 1d to ${mostDays}d.`);
  return days;
}

/** Closed days are counted as a whole, and the time since the last probe of all only where it is requested. */
function endOf(second: number, newest: number): number {
  const midnight = Math.ceil(second / daySeconds) * daySeconds;
  return midnight <= newest ? midnight : Math.max(second, newest);
}

function midnightOf(second: number): number {
  return startOfDay(dayOf(second));
}

function tooLong(): AppError {
  return new AppError('INVALID_ARGUMENT', `from and to lie more than ${mostDays} days apart; bring them nearer.`);
}
