import { restoreMissing } from '../engine/archive/thread.ts';
import { observeArchive, observeLogs } from '../engine/archive/observed.ts';
import { type Database, openDatabase } from '../engine/archive/database.ts';
import { obstacleIn } from '../engine/archive/archive.ts';
import { loadProfile, type NetworkProfile } from '../edges/chain/rest/profile.ts';
import type { Config } from '../config.ts';
import { type Observed, observedOf } from '../kit/observed.ts';
import { type LagTracker, observeLog, trackLag } from '../engine/log/lag.ts';
import { createReader, type Reader } from '../engine/models/read/reading.ts';
import { observeModels } from '../engine/models/observed.ts';
import { countLeadership, type Leadership } from '../engine/log/leadership.ts';
import type { Logger } from '../kit/logger.ts';
import { type Broker, openBroker } from '../engine/log/broker.ts';
import { ownVersion } from '../kit/version.ts';
import type { Servers } from '../engine/servers/servers.ts';

/** What every role works with. */
export type Context = Readonly<{
  config: Config;
  network: Config['network'];
  profile: NetworkProfile;
  /** Of the program. */
  version: string;
  logger: Logger;
  signal: AbortSignal;
  nats: Servers['nats'];
  broker: Broker;
  leadership: Leadership;
  postgres: Servers['postgres'];
  database: Servers['database'];
  folder: Servers['folder'];
  pools: Database['pools'];
  /** Does what a start needs of the database, on one made anew where it turns out to be damaged. */
  onSoundDatabase: Database['onSound'];
  /** Consistent snapshots of the read models. */
  reader: Reader;
  /** The same for readiness and figures, beside all who read. */
  watching: Reader;
  /** How far positions are behind the log. */
  lag: LagTracker;
  /** How the log, the archive and the read models are, as every process shows it. */
  observed: Observed;
}>;

/**
 * Connects to the database and the broker and creates what is missing there: tables, streams (from the archive, where
 * it holds them).
 *
 * Safe while other replicas do the same. Fails when the log is less durable than `DURABILITY` requires.
 */
export async function openStores(
  config: Config,
  servers: Servers,
  { logger, signal }: { logger: Logger; signal: AbortSignal },
): Promise<Context> {
  const { network } = config;
  const wanted = config.durability || (config.natsUrl === undefined ? 'strict' : 'unknown');
  const leadership = countLeadership();
  const { pools, archive, onSound } = await openDatabase(servers, { network, logger });
  const broker = await openBroker(servers.nats, {
    network,
    wanted,
    heal: (connection) =>
      onSound(() => restoreMissing(connection, { network, pools, folder: servers.folder, logger, signal })),
    obstacle: obstacleIn({ network, pools }),
    streams: { replicas: config.streamReplicas, maxBytes: config.streamMaxBytes },
    ...leadership,
  });
  const reader = createReader({ pools, network });
  const watching = createReader({ pools: { read: pools.watch }, network });
  const lag = trackLag(broker.heads, { signal, clock: () => Date.now(), logger });
  return {
    config,
    network,
    logger,
    signal,
    broker,
    pools,
    onSoundDatabase: onSound,
    leadership,
    reader,
    watching,
    lag,
    observed: observeStores({ config, broker, pools, archive, leadership, watching, lag }),
    profile: loadProfile(network),
    version: await ownVersion(),
    nats: servers.nats,
    postgres: servers.postgres,
    database: servers.database,
    folder: servers.folder,
  };
}

type Stores = Pick<Context, 'config' | 'broker' | 'leadership' | 'watching' | 'lag'> &
  Pick<Database, 'archive' | 'pools'>;

/** How the stores are, and what this process leads; every process shows it. */
function observeStores({ config, broker, pools, archive, leadership, watching, lag }: Stores): Observed {
  return observedOf([
    observeLog(broker.state, lag),
    observeArchive(archive, { ...config, clock: () => Date.now() }),
    observeLogs({ pools, network: config.network }),
    observeModels(watching, lag),
    { checks: [], gauges: [leadership.registry] },
  ]);
}
