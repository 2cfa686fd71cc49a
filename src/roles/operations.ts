import { createApp } from '../edges/http/app.ts';
import { observedIn, type Part, type RoleContext } from './role.ts';
import { serve } from './serve.ts';

/**
 * `/healthz`, `/readyz` and `/metrics` on `PORT`, in a process none of whose roles shows them beside its own routes.
 */
export async function startOperations(context: RoleContext): Promise<Part> {
  const { config, logger, version } = context;
  const app = createApp({
    logger,
    network: config.network,
    trustedProxies: config.trustedProxies,
    description: { title: 'Annals operations', version, description: 'How this process is.' },
    observed: () => observedIn(context),
    routes: (routes, addOperations) => addOperations(routes),
  });
  app.addHook('onReady', async () => await context.lag.ready);
  return await serve('operations', app, {
    host: config.host,
    port: config.port,
    urls: (base) => ({ readiness: `${base}/readyz`, metrics: `${base}/metrics` }),
  });
}
