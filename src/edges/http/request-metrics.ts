import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Counter, Histogram, type Registry } from 'prom-client';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether answers of the route last until the client disconnects. */
    lasts?: boolean;
  }
}

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** Counts the requests of an app from now on, and how long they take; those that last are counted only. */
export function countRequests(app: FastifyInstance, registry: Registry): void {
  const registers = [registry];
  const labelNames = ['route', 'method', 'status'] as const;
  const requests = new Counter({
    name: 'annals_http_requests_total',
    help: 'Requests answered',
    labelNames,
    registers,
  });
  const durations = new Histogram({
    name: 'annals_http_request_duration_seconds',
    help: 'Time from the first byte of a request to the last byte of its answer',
    labelNames: ['route', 'method'] as const,
    buckets: secondsBuckets,
    registers,
  });
  const count = (request: FastifyRequest, reply: FastifyReply): string => {
    const route = request.routeOptions.url ?? 'none';
    requests.inc({ route, method: request.method, status: String(reply.statusCode) });
    return route;
  };
  // A stream has no end of Node's: its reader leaves, or its connection is released once it starts.
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = reply;
    if (request.headers.accept?.includes('text/event-stream') === true)
      raw.once('close', () => void (raw.headersSent && !raw.writableFinished && count(request, reply)));
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const route = count(request, reply);
    if (request.routeOptions.config.lasts !== true)
      durations.observe({ route, method: request.method }, reply.elapsedTime / 1000);
    done();
  });
}
