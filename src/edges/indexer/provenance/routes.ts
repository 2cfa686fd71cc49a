import type { App } from '../../http/schema.ts';
import { logRoutes } from '../proof/log-routes.ts';
import type { RouteDependencies } from '../rest/dependencies.ts';
import { eventRoutes } from './event-routes.ts';

/** Where answers come from: the logs, and the events that records are made of. */
export function provenanceRoutes(app: App, dependencies: RouteDependencies): void {
  logRoutes(app, dependencies);
  eventRoutes(app, dependencies);
}
