import type { FastifyInstance } from 'fastify';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { countRequests } from '../request-metrics.ts';
import type { Figures } from './observed.ts';

/** The text of `/metrics` and its media type. */
export type Metrics = Readonly<{ text: () => Promise<string>; contentType: string }>;

/**
 * Counts requests of the app from now on, and shows them with the figures of the process and those that `gauges` gives
 * when asked.
 */
export function createMetrics(app: FastifyInstance, gauges: () => readonly Figures[]): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  countRequests(app, registry);
  return {
    contentType: registry.contentType,
    text: async () => (await Promise.all([registry, ...gauges()].map(async (one) => await one.metrics()))).join('\n'),
  };
}
