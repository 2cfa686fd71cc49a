import { defineTable, json, nullable } from '../columns.ts';

type Ports = readonly Readonly<{ port: number; outcome: string }>[];

/** What a closed day of a node comes to: seconds, probes, and times of those that passed. */
export const uptimeDayTable = defineTable({
  name: 'uptime_days',
  columns: {
    node: 'text',
    day: 'text',
    definition: 'text',
    up_seconds: 'int8',
    down_seconds: 'int8',
    unknown_seconds: 'int8',
    probes: 'int8',
    failed: 'int8',
    hours_up: json<readonly number[]>(),
    hours_down: json<readonly number[]>(),
    ports: json<readonly Readonly<{ port: number; outcome: string; probes: number }>[]>(),
    took: json<Readonly<{ buckets: readonly number[]; counts: readonly number[] }>>(),
    first_sequence: nullable('int8'),
    last_sequence: nullable('int8'),
  },
  key: ['node', 'day'],
  indexes: ['day'],
  past: {},
});

/** An incident of a node, as the last closed day that it touches has it. */
export const incidentTable = defineTable({
  name: 'incidents',
  columns: {
    node: 'text',
    started_at: 'text',
    ended_at: nullable('text'),
    failures: 'int8',
    ports: json<Ports>(),
    status_answers: json<readonly string[]>(),
  },
  key: ['node', 'started_at'],
  indexes: ['started_at, node'],
  past: {},
});

/** What the days of a node that are not closed yet come to, as its last probe carries it. */
export const uptimeOpenTable = defineTable({
  name: 'uptime_open',
  columns: {
    node: 'text',
    probed_at: 'text',
    passed: 'bool',
    every_seconds: nullable('int8'),
    counted_until: nullable('text'),
    days: json<readonly Readonly<{ day: string; up: number; down: number; probes: number; failed: number }>[]>(),
    incidents: json<
      readonly Readonly<{
        startedAt: string;
        endedAt?: string | undefined;
        failures: number;
        ports: Ports;
        statusAnswers: readonly string[];
      }>[]
    >(),
  },
  key: ['node'],
});
