import { limitRate } from '../../http/limits/rate-limit.ts';
import type { ConnectionLimits } from '../../../kit/connection-limits.ts';
import type { App } from '../../http/schema.ts';
import { limitBodies } from '../../http/limits/slow-bodies.ts';
import { createStreams, type SseStreams } from '../../http/sse.ts';
import type { GatewayDependencies } from './dependencies.ts';

const usualBodyMs = 15_000;
/** Connections beside those of streams. */
const otherConnections = 4_096;
/** Connections of one address beside those of its streams and uploads. */
const otherConnectionsPerAddress = 256;

/** Connections that strangers may hold open, in all and from one address. */
export function connectionBounds({
  sseMax,
  sseMaxPerAddress,
  uploadsMaxPerAddress,
}: GatewayDependencies['settings']): Omit<ConnectionLimits, 'trustedProxies'> {
  return {
    most: sseMax + otherConnections,
    mostPerAddress: sseMaxPerAddress + uploadsMaxPerAddress + otherConnectionsPerAddress,
  };
}

/** Bounds how long strangers may hold open bodies that do not come. */
export function boundIntake(app: App, { bodyWithinMs = usualBodyMs }: GatewayDependencies): void {
  limitBodies(app, bodyWithinMs);
  // Uploads take their time, and their rate is watched; all other bodies have `limitBodies`.
  app.server.requestTimeout = 0;
}

/** The streams of a gateway's routes, whose requests are bounded by their rate. */
export function boundStreams(app: App, { settings, signal }: GatewayDependencies): SseStreams {
  const { rateLimit, sseMax: mostClients, sseMaxPerAddress: mostPerAddress } = settings;
  if (rateLimit) limitRate(app, rateLimit);
  return createStreams(app, { signal, mostClients, mostPerAddress });
}
