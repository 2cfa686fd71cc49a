import type { Fact } from '../../events/catalogue.ts';
import { defineProjection } from '../projection.ts';
import type { UptimeOpenRow } from '../tables.ts';
import { incidentTable, uptimeDayTable, uptimeOpenTable } from './uptime-tables.ts';

/** Every closed day of every node; a day is closed once and never changes. */
export const uptimeDays = defineProjection({
  name: 'uptime_days',
  version: 1,
  stream: 'UPTIME',
  table: uptimeDayTable,
  derivedTables: [],
  on: {
    NodeDayClosed: (data) => [
      {
        key: [data.node, data.day],
        next: () => ({
          node: data.node,
          day: data.day,
          definition: data.definition,
          up_seconds: data.up,
          down_seconds: data.down,
          unknown_seconds: data.unknown,
          probes: data.probes,
          failed: data.failed,
          hours_up: data.hoursUp,
          hours_down: data.hoursDown,
          ports: data.ports.map(({ port, outcome, probes }) => ({ port, outcome, probes })),
          took: { buckets: data.took?.buckets ?? [], counts: data.took?.counts ?? [] },
          first_sequence: data.firstSequence ?? null,
          last_sequence: data.lastSequence ?? null,
        }),
      },
    ],
  },
});

/** Incidents of closed days; one that goes on past midnight is brought up to date by each day that it touches. */
export const incidents = defineProjection({
  name: 'incidents',
  version: 1,
  stream: 'UPTIME',
  table: incidentTable,
  derivedTables: [],
  on: {
    NodeDayClosed: ({ node, incidents: all }) =>
      all.map(({ startedAt, endedAt, failures, ports, statusAnswers }) => ({
        key: [node, startedAt],
        next: () => ({
          node,
          started_at: startedAt,
          ended_at: endedAt ?? null,
          failures,
          ports: ports.map(({ port, outcome }) => ({ port, outcome })),
          status_answers: statusAnswers,
        }),
      })),
  },
});

/** The days that are not closed yet. Each probe carries all of them, so earlier ones may be gone. */
export const uptimeOpen = defineProjection({
  name: 'uptime_open',
  version: 1,
  stream: 'PROBES',
  table: uptimeOpenTable,
  derivedTables: [],
  on: {
    ProbeSucceeded: (data) => [{ key: data.node, next: () => openDays(data, true) }],
    ProbeFailed: (data) => [{ key: data.node, next: () => openDays(data, false) }],
  },
});

function openDays(
  { node, at, everySeconds, known: { open } }: Fact<'ProbeSucceeded' | 'ProbeFailed'>['data'],
  passed: boolean,
): UptimeOpenRow {
  return {
    node,
    probed_at: at,
    passed,
    every_seconds: everySeconds ?? null,
    counted_until: open?.countedUntil ?? null,
    days: open?.days.map(({ day, up, down, probes, failed }) => ({ day, up, down, probes, failed })) ?? [],
    // One failure alone is no incident.
    incidents: open?.incidents.filter(({ failures }) => failures > 1) ?? [],
  };
}
