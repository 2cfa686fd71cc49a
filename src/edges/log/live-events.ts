import type { NatsConnection } from '@nats-io/transport-node';
import { liveKinds, streams, streamTable } from '../../events/streams.ts';
import { subscribe } from './subscribe.ts';

/**
 * Calls back with every event that outsiders may see, as the JSON text that lies in the log, from now on.
 *
 * Nothing is kept while the broker is away. Returns what ends it.
 */
export function liveEvents(nc: NatsConnection, network: string, onEvent: (json: string) => void): () => void {
  const kinds = streams.flatMap((stream) => liveKinds(streamTable[stream]));
  const subscriptions = kinds.map((kind) =>
    subscribe(nc, `live.${kind}.${network}.>`, (message) => onEvent(message.string())),
  );
  return () => subscriptions.forEach((subscription) => subscription.unsubscribe());
}
