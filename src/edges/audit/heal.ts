import type { NatsConnection } from '@nats-io/transport-node';
import { type StreamName, streams } from '../../events/streams.ts';
import type { Logger } from '../kit/logger.ts';
import { createLog } from '../log/log.ts';
import type { Pools } from '../models/pool.ts';
import { type BothStores, bothStoresOf, lookAt } from './archiver.ts';
import { sentences } from './damage.ts';
import { streamInfo } from './raw.ts';
import { repairStream } from './repair.ts';

/** What a look at the log before the start takes. */
export type HealOptions = Readonly<{ network: string; pools: Pools; logger: Logger; signal: AbortSignal }>;

/**
 * Brings streams back from the archive that the broker has lost, as a whole or their ends, before anybody writes to them.
 *
 * Does nothing where there is no archive. Fails when the archive cannot be read or the broker does not take the events.
 */
export async function healLog(nc: NatsConnection, { network, pools, logger, signal }: HealOptions): Promise<void> {
  const stores = { ...bothStoresOf(nc, { network, pools }), source: createLog(nc, network) };
  for (const stream of streams) {
    if (!(await isToBeHealed(stores, stream))) continue;
    logger.warn({ stream }, 'the broker has lost events; restoring them from the archive');
    const { report, done } = await repairStream(stores, stream, { signal });
    logger.warn({ stream, findings: sentences(report), done }, 'a store was mended');
  }
}

/** Whether a stream is to be mended without asking: not where another life of it holds events, for both may be wanted. */
export async function isToBeHealed(stores: BothStores, stream: StreamName): Promise<boolean> {
  const head = await stores.store.head(stream);
  if (!head) return false;
  const state = await lookAt(stores, stream, head);
  if (state !== 'other life') return state !== 'whole';
  return (await streamInfo(stores, stream))?.state.messages === 0;
}
