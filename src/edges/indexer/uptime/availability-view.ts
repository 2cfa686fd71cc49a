import type { Static } from 'typebox';
import { dayOf, daySeconds, startOfDay, timeOfSecond, uptimeDefinition } from '../../../commands/uptime/definition.ts';
import { percentilesOf } from '../../../commands/uptime/sketch.ts';
import type { ClosedDayRow, NodeDays, NodeSums } from '../../../projections/uptime/availability-days.ts';
import { addSums, noSums, openSums, ratiosOf, type UptimeSums } from './availability-sums.ts';
import type { fleetUptimeItem, nodeUptime, uptimePeriod } from './uptime-schemas.ts';
import type { UptimeWindow } from './window.ts';

type Period = Static<typeof uptimePeriod>;

/** Whether periods are days or, where a day is closed, hours. */
export type Resolution = '1d' | '1h';

const hourSeconds = 3600;
const shares = [0.5, 0.9, 0.99] as const;

/** The availability of a node over a window, in sums and by periods; sums are divided, never ratios averaged. */
export function availabilityOf(
  node: string,
  { closed, open }: NodeDays,
  { window, resolution }: Readonly<{ window: UptimeWindow; resolution: Resolution }>,
): Static<typeof nodeUptime.schema> {
  const byDay = new Map(closed.map((one) => [one.day, one]));
  const ofProbes = openSums(open, window);
  const days = daysWithin(window).map((day) => ({ day, row: byDay.get(day), sums: ofProbes.get(day) ?? noSums }));
  const total = days.map(({ row, sums }) => (row ? sumsOfDay(row) : sums)).reduce(addSums, noSums);
  return {
    id: node,
    definition: uptimeDefinition,
    from: timeOfSecond(window.from),
    to: timeOfSecond(window.to),
    ...ratiosOf(total, window.to - window.from),
    probes: total.probes,
    failed_probes: total.failed,
    response_ms: timesOf(closed),
    periods: days.flatMap(({ day, row, sums }) =>
      row && resolution === '1h' ? hoursOf(row) : [row ? closedPeriod(row) : openPeriod(day, sums, window)],
    ),
  };
}

/** The availability of a listed node over a window. */
export function fleetItemOf(node: NodeSums, window: UptimeWindow): Static<typeof fleetUptimeItem> {
  const { fromDay, closedUntil } = { fromDay: dayOf(window.from), closedUntil: node.last_day ?? '' };
  const open = [...openSums(node.open, window)].filter(
    ([day]) => day >= fromDay && day > closedUntil && startOfDay(day) < window.to,
  );
  const total = open.map(([, sums]) => sums).reduce(addSums, node);
  return {
    id: node.node,
    ...ratiosOf(total, window.to - window.from),
    probes: total.probes,
    failed_probes: total.failed,
  };
}

function daysWithin({ from, to }: UptimeWindow): string[] {
  const days: string[] = [];
  for (let start = from; start < to; start += daySeconds) days.push(dayOf(start));
  return days;
}

function sumsOfDay({ up_seconds: up, down_seconds: down, probes, failed }: ClosedDayRow): UptimeSums {
  return { up, down, probes, failed };
}

function closedPeriod(row: ClosedDayRow): Period {
  const start = startOfDay(row.day);
  return {
    from: timeOfSecond(start),
    to: timeOfSecond(start + daySeconds),
    ...ratiosOf(sumsOfDay(row), daySeconds),
    probes: row.probes,
    failed_probes: row.failed,
    response_ms: timesOf([row]),
    closed: true,
    event: eventOf(row),
  };
}

function hoursOf(row: ClosedDayRow): Period[] {
  return row.hours_up.map((up, hour) => {
    const start = startOfDay(row.day) + hour * hourSeconds;
    return {
      from: timeOfSecond(start),
      to: timeOfSecond(start + hourSeconds),
      ...ratiosOf({ up, down: row.hours_down[hour] ?? 0 }, hourSeconds),
      probes: null,
      failed_probes: null,
      response_ms: null,
      closed: true,
      event: eventOf(row),
    };
  });
}

function openPeriod(day: string, sums: UptimeSums, window: UptimeWindow): Period {
  const start = startOfDay(day);
  const end = Math.min(start + daySeconds, window.to);
  return {
    from: timeOfSecond(start),
    to: timeOfSecond(end),
    ...ratiosOf(sums, end - start),
    probes: sums.probes,
    failed_probes: sums.failed,
    response_ms: null,
    closed: false,
    event: null,
  };
}

function timesOf(rows: readonly ClosedDayRow[]): Static<typeof nodeUptime.schema>['response_ms'] {
  const [p50, p90, p99] =
    percentilesOf(
      rows.map(({ took }) => ({ buckets: [...took.buckets], counts: [...took.counts] })),
      shares,
    ) ?? [];
  return p50 === undefined || p90 === undefined || p99 === undefined ? null : { p50, p90, p99 };
}

/** Where the event that closed a day is served. */
function eventOf({ position }: ClosedDayRow): string {
  return `/log/UPTIME/events/${position}`;
}
