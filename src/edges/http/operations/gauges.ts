import { Gauge, type Registry } from 'prom-client';
import type { FleetStats } from '../../../projections/fleet/fleet-stats.ts';
import type { RoundRow } from '../../../projections/tables.ts';
import type { ArchiveState, Generation, RestSettings } from '../../indexer/rest/dependencies.ts';
import { sources } from '../../../events/words.ts';

/** The figures of an instance that are read when somebody asks for them. */
export function createGauges(registry: Registry) {
  const gauge = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Gauge({ name: `annals_${name}`, help, labelNames, registers: [registry] });
  return {
    position: gauge(
      'projection_position',
      'Sequence of the last fact that a projection has applied',
      'projection',
      'stream',
    ),
    lag: gauge('projection_lag_seconds', 'How far a projection is behind the log', 'projection', 'stream'),
    generation: gauge('projection_generation', 'Live generation of a projection', 'projection', 'stream'),
    stopped: gauge('projection_stopped', 'Whether a projection has stopped', 'projection', 'stream'),
    last: gauge('stream_last_sequence', 'Sequence of the last fact of a stream', 'stream'),
    archived: gauge('archive_position', 'Sequence of the last event of a stream in the archive', 'stream'),
    scrubAge: gauge('archive_scrub_age_seconds', 'Time since a stream was last compared with its archive', 'stream'),
    scrubPlanned: gauge(
      'archive_scrub_planned_seconds',
      'How long the pause before a comparison of a stream and the comparison take, as they are set',
      'stream',
    ),
    damaged: gauge('archive_damaged', 'Whether damage was found that is not mended yet', 'stream'),
    lost: gauge('archive_lost_events', 'Events that neither the stream nor the archive has', 'stream'),
    broker: gauge('broker_up', 'Whether the broker answers'),
    database: gauge('database_up', 'Whether the database answers'),
    durability: gauge('log_durability_info', 'Grade in force of the log', 'grade'),
    age: gauge('sync_age_seconds', 'Time since the last completed round of a source', 'source'),
    height: gauge('sync_height', 'Height of the last completed round of a source', 'source'),
    failing: gauge('sync_failing', 'Whether the last round of a source failed', 'source'),
    probes: gauge('supernodes', 'Listed SuperNodes by the outcome of their latest probe', 'status'),
  };
}

/** See `createGauges`. */
export type Gauges = ReturnType<typeof createGauges>;

/** Shows how a live projection stands. */
export function showProjection(
  gauges: Gauges,
  { projection, stream, position, generation, stoppedReason }: Generation,
  lagMs: number,
): void {
  const labels = { projection, stream };
  gauges.position.set(labels, position);
  gauges.lag.set(labels, lagMs / 1000);
  gauges.generation.set(labels, generation);
  gauges.stopped.set(labels, Number(stoppedReason !== null));
}

/** Shows what one look at the read models found. */
export function showRead(
  gauges: Gauges,
  { rounds, fleet }: { rounds: readonly RoundRow[]; fleet: FleetStats },
  now: number,
): void {
  gauges.probes.set({ status: 'available' }, fleet.available);
  gauges.probes.set({ status: 'unavailable' }, fleet.unavailable);
  for (const { source, completed_at, completed_height, failed_at } of rounds.filter((row) =>
    sources.some((one) => one === row.source),
  )) {
    if (completed_at !== null) gauges.age.set({ source }, Math.max(now - Date.parse(completed_at), 0) / 1000);
    if (completed_height !== null) gauges.height.set({ source }, completed_height);
    gauges.failing.set({ source }, Number(failed_at !== null));
  }
}

/** Shows how the archive stands, and how often it is to be compared with the log. */
export function showArchive(
  gauges: Gauges,
  { standings, losses }: ArchiveState,
  { scrubIntervalMs, scrubPerSecond, now }: Pick<RestSettings, 'scrubIntervalMs' | 'scrubPerSecond'> & { now: number },
): void {
  for (const { stream, position, scrubbedAt, findings } of standings) {
    gauges.archived.set({ stream }, position);
    gauges.damaged.set({ stream }, Number(findings.length > 0));
    if (scrubbedAt !== null) gauges.scrubAge.set({ stream }, Math.max(now - Date.parse(scrubbedAt), 0) / 1000);
    gauges.scrubPlanned.set({ stream }, scrubIntervalMs / 1000 + position / scrubPerSecond);
    gauges.lost.set({ stream }, 0);
  }
  for (const { stream, first, last } of losses) gauges.lost.inc({ stream }, last - first + 1);
}
