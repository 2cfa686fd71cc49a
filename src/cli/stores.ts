import type { NatsConnection } from '@nats-io/transport-node';
import { runAtIdlePriority } from '../engine/servers/give-way.ts';
import { findInstance, type Instance } from '../engine/servers/instance.ts';
import type { Config } from '../config.ts';
import { connectNats } from '../engine/log/connection.ts';
import { createLog, type Log } from '../engine/log/log.ts';
import { createPools, type Pools } from '../engine/models/pool.ts';

/** A running instance as a verb of the command line sees it: its log and its database. */
export type Stores = Readonly<{
  instance: Instance;
  network: string;
  connection: NatsConnection;
  log: Log;
  pools: Pools;
  /** Runs this process and its database backends at idle priority from now on; call it before the pools are used. */
  giveWay: () => Promise<void>;
}>;

/** Opens the stores of the running instance for as long as `use` takes. */
export async function withStores<T>(config: Config, name: string, use: (stores: Stores) => Promise<T>): Promise<T> {
  const instance = await findInstance(config);
  const { network } = instance;
  const connection = await connectNats({ ...instance.nats, name: `annals ${name}` });
  const pools = createPools(instance.postgres, { applicationName: `annals ${name}` });
  try {
    return await use({
      instance,
      network,
      connection,
      log: createLog(connection, network),
      pools,
      giveWay: () => runAtIdlePriority(pools, instance.postgres),
    });
  } finally {
    await Promise.allSettled([pools.end(), connection.close()]);
  }
}
