import cors from '@fastify/cors';
import { type ConnectionLimits, limitConnections } from '../../kit/connection-limits.ts';
import { type ApiDescription, describeApi } from './openapi.ts';
import { createMetrics } from './operations/metrics.ts';
import type { Observed } from '../../kit/observed.ts';
import { operationRoutes } from './operations/operations.ts';
import type { App } from './schema.ts';
import { createServer, type ServerOptions } from './server.ts';

/** Options of an app. */
export type AppOptions = ServerOptions &
  Readonly<{
    description: ApiDescription;
    /** Name of the network that its figures are of. */
    network: string;
    /** The checks and figures of the process at this moment. */
    observed: () => Observed;
    /**
     * Origins that may read answers, the headers that they may read, and the methods that they may use beside GET, HEAD
     * and POST.
     */
    cors?: Readonly<{
      origins: readonly string[] | '*';
      exposedHeaders: readonly string[];
      methods?: readonly string[];
    }>;
    /** Connections, in all and of one address; those of one are 1,024 unless set. */
    connections?: Omit<ConnectionLimits, 'trustedProxies'>;
    /** Adds the routes; where it calls `addOperations`, the document has those of operations. */
    routes: (app: App, addOperations: (app: App) => void) => void | Promise<void>;
  }>;

const usualConnections = { most: 8_192, mostPerAddress: 1_024 } as const;

/**
 * An app of its own: server, document, metrics and routes, operations among them.
 *
 * Any process can make several, on ports of their own; `listen` starts one, `close` ends it.
 *
 * @example
 * const app = createApp({ logger, network, description, observed, routes: (app, operate) => operate(app) });
 */
export function createApp({
  description,
  network,
  observed,
  connections = usualConnections,
  cors: crossing,
  routes,
  ...server
}: AppOptions): App {
  const app = createServer(server);
  limitConnections(app.server, { ...connections, trustedProxies: server.trustedProxies ?? [] });
  if (crossing) {
    const { origins, exposedHeaders, methods } = crossing;
    const origin = origins === '*' ? '*' : [...origins];
    // As one text: answers that last keep theirs.
    const allowed = { exposedHeaders: exposedHeaders.join(', '), ...(methods && { methods: [...methods] }) };
    void app.register(cors, { origin, strictPreflight: false, ...allowed });
  }
  describeApi(app, description);
  const metrics = createMetrics(app, network, () => observed().gauges);
  const operations = { checks: () => observed().checks, metrics };
  void app.register(async (inner: App) => await routes(inner, (to) => operationRoutes(to, operations)));
  return app;
}
