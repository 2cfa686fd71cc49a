import { type KV, type KvOptions, Kvm } from '@nats-io/kv';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { refusedWith } from './breaks.ts';
import { streamName } from './streams.ts';

/** Opens a key-value bucket of a network, creating it on first use; it gets as many replicas as the log has now. */
export async function openBucket(
  nc: NatsConnection,
  network: string,
  name: string,
  options: Partial<KvOptions> = {},
): Promise<KV> {
  const replicas = await replicasOfLog(nc, network);
  const bucket = await new Kvm(nc).create(name, { history: 1, replicas, ...options });
  const manager = await jetstreamManager(nc, { checkAPI: false });
  const { config } = await manager.streams.info(`KV_${name}`);
  if (config.num_replicas !== replicas)
    await manager.streams.update(config.name, { ...config, num_replicas: replicas });
  return bucket;
}

/** 1 where there is no log yet. */
async function replicasOfLog(nc: NatsConnection, network: string): Promise<number> {
  const manager = await jetstreamManager(nc, { checkAPI: false });
  try {
    return (await manager.streams.info(streamName('SYNC', network))).config.num_replicas;
  } catch (caught) {
    if (refusedWith(caught, 'streamNotFound')) return 1;
    throw caught;
  }
}
