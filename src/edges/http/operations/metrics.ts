import type { FastifyInstance } from 'fastify';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { countRequests } from '../request-metrics.ts';
import type { Figures } from '../../../kit/observed.ts';

/** The text of `/metrics` and its media type. */
export type Metrics = Readonly<{ text: () => Promise<string>; contentType: string }>;

/** The start of a line with a value in Prometheus' text format, up to its first label. */
const sample = /^([a-zA-Z_:][\w:]*)(?:\{(?=(.)))?/gm;

/**
 * Counts requests of the app from now on, and shows them with the figures of the process and those that `gauges`
 * returns when scraped; every figure has the label `network`, so that two networks in one Prometheus stay apart.
 */
export function createMetrics(app: FastifyInstance, network: string, gauges: () => readonly Figures[]): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  countRequests(app, registry);
  return {
    contentType: registry.contentType,
    text: async () => {
      const parts = await Promise.all([registry, ...gauges()].map(async (one) => await one.metrics()));
      return withNetwork(parts.join('\n'), network);
    },
  };
}

/** Adds the label to the text, because some of it is a child process' own. */
function withNetwork(text: string, network: string): string {
  const label = `network="${network}"`;
  return text.replace(sample, (_, name: string, next?: string) =>
    next === undefined ? `${name}{${label}}` : `${name}{${label}${next === '}' ? '' : ','}`,
  );
}
