import type { NatsConnection } from '@nats-io/transport-node';

/**
 * Calls back with every event that outsiders may see, as the JSON text that lies in the log, from now on.
 *
 * Nothing is kept while the broker is away. Returns what ends it.
 */
export function liveEvents(nc: NatsConnection, network: string, onEvent: (json: string) => void): () => void {
  const subscriptions = ['action', 'node', 'probe'].map((kind) =>
    nc.subscribe(`live.${kind}.${network}.>`, {
      callback: (err, message) => (err ? undefined : onEvent(message.string())),
    }),
  );
  return () => subscriptions.forEach((subscription) => subscription.unsubscribe());
}
