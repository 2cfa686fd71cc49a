import { limitRate } from '../../http/rate-limit.ts';
import { limitConnections } from '../../../kit/connection-limits.ts';
import type { App } from '../../http/schema.ts';
import { limitBodies } from '../../http/slow-bodies.ts';
import { createStreams, type SseStreams } from '../../http/sse.ts';
import type { GatewayDependencies } from './dependencies.ts';

const usualBodyMs = 15_000;
/** Connections beside those of streams. */
const otherConnections = 4_096;
/** Connections of one address beside those of its streams and uploads. */
const otherConnectionsPerAddress = 256;

/** Bounds what strangers may hold open: connections, in all and of one address, and bodies that do not come. */
export function boundIntake(app: App, { settings, bodyWithinMs = usualBodyMs }: GatewayDependencies): void {
  const { sseMax, sseMaxPerAddress, trustedProxies, uploadsMaxPerAddress } = settings;
  limitBodies(app, bodyWithinMs);
  limitConnections(app.server, {
    most: sseMax + otherConnections,
    mostPerAddress: sseMaxPerAddress + uploadsMaxPerAddress + otherConnectionsPerAddress,
    trustedProxies,
  });
  // Uploads take their time, and their rate is watched; all other bodies have `limitBodies`.
  app.server.requestTimeout = 0;
}

/** The streams of a gateway's routes, whose requests are bounded by their rate. */
export function boundStreams(app: App, { settings, signal }: GatewayDependencies): SseStreams {
  const { rateLimit, sseMax: mostClients, sseMaxPerAddress: mostPerAddress } = settings;
  if (rateLimit) limitRate(app, rateLimit);
  return createStreams(app, { signal, mostClients, mostPerAddress });
}
