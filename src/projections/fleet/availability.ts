import type { Fact } from '../../events/catalogue.ts';
import { defineProjection } from '../projection.ts';
import { availabilityTable } from './fleet-tables.ts';
import type { AvailabilityRow } from '../tables.ts';

type Known = Fact<'ProbeFailed'>['data']['known'];

/** The result of every node's latest probe. Each probe carries all that is known, so earlier ones may be gone. */
export const availability = defineProjection({
  name: 'availability',
  version: 4,
  stream: 'PROBES',
  table: availabilityTable,
  derivedTables: [],
  on: {
    ProbeSucceeded: (data) => [{ key: data.node, next: () => probed({ ...data, statusAnswer: 'ok' }, true) }],
    ProbeFailed: (data) => [{ key: data.node, next: () => probed(data, false) }],
  },
});

function probed(probe: Omit<Fact<'ProbeFailed'>['data'], 'tookMs'>, available: boolean): AvailabilityRow {
  return {
    id: probe.node,
    available,
    failed_probe_counter: probe.known.consecutiveFailures,
    last_seen_at: probe.known.lastSeenAt ?? null,
    probed_at: probe.at,
    ports: probe.ports.map(({ port, outcome }) => ({ port, outcome })),
    status_answer: probe.statusAnswer,
    services: probe.known.services,
    ...figuresOf(probe.known),
  };
}

function figuresOf({ figures }: Known) {
  return {
    version: figures?.version || null,
    peer_count: figures?.peerCount ?? null,
    cpu_cores: figures?.cpuCores ?? null,
    cpu_usage_percent: figures?.cpuUsagePercent ?? null,
    memory_total_gb: figures?.memoryTotalGb ?? null,
    memory_used_gb: figures?.memoryUsedGb ?? null,
    storage_total_gb: figures?.storageTotalGb ?? null,
    storage_used_gb: figures?.storageUsedGb ?? null,
    uptime_seconds: figures?.uptimeSeconds ?? null,
  };
}
