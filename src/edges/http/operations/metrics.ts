import type { FastifyInstance } from 'fastify';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { FleetStatistics } from '../../../projections/fleet/queries.ts';
import type { Reading } from '../../../projections/reading.ts';
import { SyncRounds } from '../../../projections/rounds/queries.ts';
import { ask } from '../../bus.ts';
import type { RouteDependencies } from '../../indexer/rest/shared.ts';
import { createGauges, type Gauges, showArchive, showProjection, showRead } from './gauges.ts';
import { countRequests } from '../request-metrics.ts';
import { within } from '../../kit/within.ts';

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

async function refresh(
  gauges: Gauges,
  { reader, broker, archive, lag, clock, settings }: RouteDependencies,
): Promise<void> {
  const read = async (reading: Reading) => ({
    rounds: await ask(reading, new SyncRounds({})),
    fleet: await ask(reading, new FleetStatistics({})),
  });
  const [generations, state, seen, archived] = await Promise.allSettled([
    within(lookTimeoutMs, reader.generations(), 'late'),
    within(lookTimeoutMs, broker(), 'late'),
    within(lookTimeoutMs, reader.read(read), 'late'),
    within(lookTimeoutMs, archive(), 'late'),
  ]);
  for (const [stream, head] of Object.entries(lag.heads())) gauges.last.set({ stream }, head.lastSequence);
  gauges.database.set(Number(seen.status === 'fulfilled'));
  gauges.broker.set(Number(state.status === 'fulfilled'));
  if (state.status === 'fulfilled') gauges.durability.set({ grade: state.value.durability }, 1);
  if (generations.status === 'fulfilled')
    for (const one of generations.value.filter(({ status }) => status === 'live'))
      showProjection(gauges, one, lag.lagMs(one.stream, one.position));
  if (archived.status === 'fulfilled') showArchive(gauges, archived.value, { ...settings, now: clock() });
  if (seen.status === 'fulfilled') showRead(gauges, seen.value, clock());
}
