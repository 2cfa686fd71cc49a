import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';
import type { RestDependencies } from './dependencies.ts';
import { exposedHeaders } from './headers.ts';
import { createMetrics } from '../../http/operations/metrics.ts';
import { describeApi } from '../../http/openapi.ts';
import { addRoutes } from './routes.ts';
import { createServer } from '../../http/server.ts';
import { shareDependencies } from './shared.ts';

/**
 * The indexing REST API (spec 2) over what is passed in; `listen` starts it, `close` ends it with its live connections.
 *
 * @example await createRest(dependencies).listen({ host: '127.0.0.1', port: 18080 })
 */
export function createRest(dependencies: RestDependencies): FastifyInstance {
  const { corsAllowOrigins } = dependencies.settings;
  const origin = corsAllowOrigins === '*' ? '*' : [...corsAllowOrigins];
  const shared = shareDependencies(dependencies);
  const app = createServer(dependencies.logger);
  app.addHook('onReady', async () => await shared.lag.ready);
  void app.register(cors, { origin, exposedHeaders, strictPreflight: false });
  describeApi(app, dependencies.version);
  const metrics = createMetrics(app, shared);
  void app.register(async (routes: typeof app) => await addRoutes(routes, shared, metrics));
  return app;
}
