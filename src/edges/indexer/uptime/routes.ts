import type { App } from '../../http/schema.ts';
import type { RouteDependencies } from '../rest/dependencies.ts';
import { incidentRoutes } from './incident-routes.ts';
import { availabilityRoutes } from './availability-routes.ts';

/** How available SuperNodes were, and when they were not. */
export function uptimeRoutes(app: App, dependencies: RouteDependencies): void {
  availabilityRoutes(app, dependencies);
  incidentRoutes(app, dependencies);
}
