import type { NatsConnection } from '@nats-io/transport-node';
import { streamOfKind, type StreamName } from '../../events/streams.ts';
import { createGate, type Gate } from '../log/append/gate.ts';
import type { Log } from '../log/log.ts';
import type { Pools } from '../models/pool.ts';
import { bothStoresOf, lookAt } from './archiver.ts';

/** A log that takes nothing in while a stream lacks what the archive or a read model knows of it, which a broker that was away may have lost. */
export function guardedLog(
  log: Log,
  nc: NatsConnection,
  { network, pools }: Readonly<{ network: string; pools: Pools }>,
): Log {
  const stores = bothStoresOf(nc, { network, pools });
  const gate = createGate(nc, async (stream: StreamName) => {
    const head = await stores.store.head(stream).catch(() => undefined);
    // Another life of the stream is for people to judge.
    return !head || ['whole', 'other life'].includes(await lookAt(stores, stream, head));
  });
  return gatedLog(log, gate);
}

/** A log that waits for a gate before each append. */
export function gatedLog(log: Log, gate: Gate): Log {
  const append: Log['append'] = async (decisions, cause) => {
    for (const { kind } of decisions.slice(0, 1)) await gate(streamOfKind(kind));
    return await log.append(decisions, cause);
  };
  return { ...log, append };
}
