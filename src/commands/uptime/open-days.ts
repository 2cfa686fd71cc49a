import type { FactOf } from '../../events/catalogue.ts';
import {
  dayOf,
  daySeconds,
  decidedSpan,
  type ProbeOutcome,
  secondOf,
  spokenBy,
  startOfDay,
  timeOfSecond,
} from './definition.ts';
import { isIncident, type Outage, outageAfter } from './incidents.ts';

/** What the days that are not closed yet come to, as every probe carries it. */
type OpenDays = NonNullable<FactOf<'probe'>['data']['known']['open']>;
type OpenDay = OpenDays['days'][number];

/** More would make each probe of a node that comes and goes a long one; its closed days hold all of them. */
const mostIncidents = 16;

/**
 * Adds a probe to the open days: the time since the probe before it, which that one decides, and the probe itself.
 *
 * Carried on from probe to probe, so that the last one alone answers for today and yesterday. A failure of ours counts
 * as down here; only the closing of a day sees all nodes.
 */
export function openDaysAfter(
  before: ProbeOutcome | undefined,
  open: OpenDays | undefined,
  probe: ProbeOutcome,
): OpenDays {
  const at = secondOf(probe.at);
  const counted = open ? secondOf(open.countedUntil) : -Infinity;
  const until = Math.max(at, counted);
  const today = dayOf(until);
  const oldest = dayOf(startOfDay(today) - daySeconds);
  const days = new Map(open?.days.map((one) => [one.day, one]));
  if (before) addSpan(days, before, { counted, end: at });
  add(days, today, { probes: 1, failed: Number(!probe.hasPassed) });
  return {
    countedUntil: timeOfSecond(until),
    days: [...days.values()].filter(({ day }) => day >= oldest).toSorted((a, b) => (a.day < b.day ? -1 : 1)),
    incidents: incidentsAfter(open?.incidents ?? [], probe).filter(
      ({ endedAt }) => endedAt === undefined || endedAt >= oldest,
    ),
  };
}

function addSpan(
  days: Map<string, OpenDay>,
  before: ProbeOutcome,
  { counted, end }: Readonly<{ counted: number; end: number }>,
): void {
  const { from, to } = decidedSpan(spokenBy(before), counted, end);
  for (let start = from; start < to;) {
    const day = dayOf(start);
    const stop = Math.min(to, startOfDay(day) + daySeconds);
    add(days, day, { [before.hasPassed ? 'up' : 'down']: stop - start });
    start = stop;
  }
}

function add(days: Map<string, OpenDay>, day: string, more: Partial<OpenDay>): void {
  const { up, down, probes, failed } = days.get(day) ?? { up: 0, down: 0, probes: 0, failed: 0 };
  days.set(day, {
    day,
    up: up + (more.up ?? 0),
    down: down + (more.down ?? 0),
    probes: probes + (more.probes ?? 0),
    failed: failed + (more.failed ?? 0),
  });
}

/** The last entry is the one that goes on; one failure alone leaves nothing behind. */
function incidentsAfter(before: readonly Outage[], probe: ProbeOutcome): readonly Outage[] {
  const last = before.at(-1);
  const open = last?.endedAt === undefined ? last : undefined;
  const closed = open ? before.slice(0, -1) : before;
  const next = outageAfter(open, probe);
  const isOver = next === undefined || (probe.hasPassed && !isIncident(next));
  return isOver ? closed : [...closed, next].slice(-mostIncidents);
}
