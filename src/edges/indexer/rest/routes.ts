import { actionRoutes } from './actions.ts';
import type { RouteDependencies } from './shared.ts';
import { liveRoutes } from './live.ts';
import type { Metrics } from '../../http/operations/metrics.ts';
import { operationRoutes } from '../../http/operations/operations.ts';
import type { App } from '../../http/schema.ts';
import { superNodeRoutes } from './supernodes.ts';
import { syncRoutes } from './sync.ts';
import { versionRoutes } from './version-matrix.ts';

/** Every route of the API, in the order of its document, and the pages. */
export async function addRoutes(app: App, dependencies: RouteDependencies, metrics: Metrics): Promise<void> {
  if (dependencies.operationsOnly) return operationRoutes(app, dependencies, metrics);
  actionRoutes(app, dependencies);
  superNodeRoutes(app, dependencies);
  syncRoutes(app, dependencies);
  versionRoutes(app, dependencies);
  operationRoutes(app, dependencies, metrics);
  liveRoutes(app, dependencies);
  await dependencies.registerPages?.(app);
}
