import type { NatsConnection } from '@nats-io/transport-node';
import type { StreamName } from '../../events/streams.ts';
import type { Pools } from '../models/pool.ts';
import { bothStoresOf, stateOf } from './archive.ts';
import { streamStates } from './report.ts';

/**
 * Tells what stands in the way of writing to a stream: that it lacks what the archive or a read model knows of it,
 * which a broker that was away may have lost.
 *
 * Fails while the database does not answer, for then nobody knows.
 */
export function obstacleIn({
  network,
  pools,
}: Readonly<{ network: string; pools: Pools }>): (
  nc: NatsConnection,
  stream: StreamName,
) => Promise<string | undefined> {
  return async (nc, stream) => {
    const stores = bothStoresOf(nc, { network, pools });
    const head = await stores.store.head(stream);
    const isWhole = !head || streamStates[await stateOf(stores, stream, head)].mayWrite;
    return isWhole ? undefined : 'it may have lost events, and they are not back yet';
  };
}
