import { type Broker, type BrokerAccess, openBroker } from '../log/broker.ts';
import type { Pools } from '../models/pool.ts';
import type { obstacleIn } from './archive.ts';

/** The broker of a process that has opened it already, and the database that says whether its streams are complete. */
type SharedBroker = Readonly<{
  nats: BrokerAccess;
  network: string;
  /** Called before the first write. */
  pools: () => Promise<Pools>;
  onAppendRefused?: (stream: string) => void;
}>;

/**
 * Opens the broker of the process that started this process or thread, which alone makes and restores streams: what is
 * missing here stays missing until it is restored, and nothing is written meanwhile.
 */
export async function openSharedBroker({ nats, network, pools, ...hears }: SharedBroker): Promise<Broker> {
  let gate: Promise<ReturnType<typeof obstacleIn>> | undefined;
  const openGate = async (): Promise<ReturnType<typeof obstacleIn>> => {
    const archive = await import('./archive.ts');
    return archive.obstacleIn({ network, pools: await pools() });
  };
  return await openBroker(nats, {
    network,
    wanted: 'unknown',
    streams: 'as they are',
    obstacle: async (connection, stream) => await (await (gate ??= openGate()))(connection, stream),
    ...hears,
  });
}
