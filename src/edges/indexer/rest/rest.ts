import type { FastifyInstance } from 'fastify';
import { createApp } from '../../http/app.ts';
import { createCursors } from '../../http/cursor.ts';
import { provenanceRoutes } from '../provenance/routes.ts';
import { actionRoutes } from './actions.ts';
import { cacheAnswers } from './answer-cache.ts';
import { refuseInstantsElsewhere } from './as-of.ts';
import type { RestDependencies, RouteDependencies } from './dependencies.ts';
import { apiDescription, exposedHeaders } from './description.ts';
import { liveRoutes } from './live.ts';
import { createRanks } from './ranks.ts';
import { createRead } from './reads.ts';
import { superNodeRoutes } from './supernodes.ts';
import { syncRoutes } from './sync.ts';

/** Those of one address are the readers of a log that it may have, two kinds of live lists, and pages beside them. */
const connections = { most: 12_288, mostPerAddress: 2_560 } as const;

/**
 * The indexing REST API (spec 2) over what is passed in; `listen` starts it, `close` ends it with its live connections.
 *
 * @example await createRest(dependencies).listen({ host: '127.0.0.1', port: 18080 })
 */
export function createRest(dependencies: RestDependencies): FastifyInstance {
  const { lag, logger, observed, settings, version, registerPages, refusalPage } = dependencies;
  const readOnce = createRead(dependencies);
  const shared: RouteDependencies = {
    ...dependencies,
    readOnce,
    read: cacheAnswers(readOnce),
    cursors: createCursors(dependencies.cursorKey),
    ranks: createRanks(),
  };
  const app = createApp({
    logger,
    network: settings.network,
    observed,
    description: { ...apiDescription, version },
    connections,
    trustedProxies: settings.trustedProxies,
    guide: '/docs and /openapi.json say',
    ...(refusalPage && { refusalPage }),
    cors: { origins: settings.corsAllowOrigins, exposedHeaders },
    routes: async (routes, addOperations) => {
      refuseInstantsElsewhere(routes);
      actionRoutes(routes, shared);
      superNodeRoutes(routes, shared);
      syncRoutes(routes, shared);
      provenanceRoutes(routes, shared);
      addOperations(routes);
      liveRoutes(routes, shared);
      await registerPages?.(routes);
    },
  });
  app.addHook('onReady', async () => await lag.ready);
  return app;
}
