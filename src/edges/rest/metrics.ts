import type { FastifyInstance } from 'fastify';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { type FleetStats, fleetStats } from '../../projections/fleet-stats.ts';
import type { Reading } from '../../projections/reading.ts';
import type { RoundRow } from '../../projections/tables.ts';
import { rounds as readRounds } from '../../projections/rounds.ts';
import type { Generation } from './dependencies.ts';
import type { RouteDependencies } from './shared.ts';
import { sources } from './headers.ts';
import { countRequests } from './request-metrics.ts';
import { within } from './within.ts';

/** The text of `/metrics` and its media type. */
export type Metrics = Readonly<{ text: () => Promise<string>; contentType: string }>;

const lookTimeoutMs = 3000;

/**
 * Counts requests of the app from now on, and reads the other figures whenever somebody asks.
 *
 * While the database is away, its figures are missing from the text rather than stale.
 */
export function createMetrics(app: FastifyInstance, dependencies: RouteDependencies): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  countRequests(app, registry);
  const gauges = createGauges(registry);
  const registries = [registry, ...(dependencies.registry ? [dependencies.registry] : [])];
  return {
    contentType: registry.contentType,
    text: async () => {
      for (const gauge of Object.values(gauges)) gauge.reset();
      await refresh(gauges, dependencies);
      return (await Promise.all(registries.map(async (one) => await one.metrics()))).join('\n');
    },
  };
}

function createGauges(registry: Registry) {
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
    broker: gauge('broker_up', 'Whether the broker answers'),
    database: gauge('database_up', 'Whether the database answers'),
    durability: gauge('log_durability_info', 'Grade in force of the log', 'grade'),
    age: gauge('sync_age_seconds', 'Time since the last completed round of a source', 'source'),
    height: gauge('sync_height', 'Height of the last completed round of a source', 'source'),
    failing: gauge('sync_failing', 'Whether the last round of a source failed', 'source'),
    probes: gauge('supernodes', 'Listed SuperNodes by the outcome of their latest probe', 'status'),
  };
}
type Gauges = ReturnType<typeof createGauges>;

async function refresh(gauges: Gauges, { reader, broker, lag, clock }: RouteDependencies): Promise<void> {
  const read = async (reading: Reading) => ({ rounds: await readRounds(reading), fleet: await fleetStats(reading) });
  const [generations, state, seen] = await Promise.allSettled([
    within(lookTimeoutMs, reader.generations(), 'late'),
    within(lookTimeoutMs, broker(), 'late'),
    within(lookTimeoutMs, reader.read(read), 'late'),
  ]);
  for (const [stream, head] of Object.entries(lag.heads())) gauges.last.set({ stream }, head.lastSequence);
  gauges.database.set(Number(seen.status === 'fulfilled'));
  gauges.broker.set(Number(state.status === 'fulfilled'));
  if (state.status === 'fulfilled') gauges.durability.set({ grade: state.value.durability }, 1);
  if (generations.status === 'fulfilled')
    for (const one of generations.value.filter(({ status }) => status === 'live'))
      showProjection(gauges, one, lag.lagMs(one.stream, one.position));
  if (seen.status === 'fulfilled') showRead(gauges, seen.value, clock());
}

function showProjection(
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

function showRead(
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
