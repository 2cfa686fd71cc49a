import type { App } from '../../http/schema.ts';
import { logRoutes } from '../proof/log-routes.ts';
import type { RouteDependencies } from '../rest/dependencies.ts';
import { eventRoutes } from './event-routes.ts';
import { linkRoutes } from './link-routes.ts';
import { recordRoutes } from './record-routes.ts';
import { webhookKeyRoute } from './webhook-key.ts';

/** Single records with where they come from: the events that they are made of, and the logs that hold those. */
export function provenanceRoutes(app: App, dependencies: RouteDependencies): void {
  recordRoutes(app, dependencies);
  logRoutes(app, dependencies);
  eventRoutes(app, dependencies);
  linkRoutes(app, dependencies);
  webhookKeyRoute(app, dependencies);
}
