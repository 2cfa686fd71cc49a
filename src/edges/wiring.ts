import type { NatsConnection } from '@nats-io/transport-node';
import type pg from 'pg';
import { AppError } from '../commands/errors.ts';
import type { Network } from '../events/ids.ts';
import type { Config } from './config.ts';
import type { Logger } from './log.ts';
import { connectNats } from './nats/connection.ts';
import { type Durability, readDurability } from './nats/durability.ts';
import { createLeases, type Leases } from './nats/leases.ts';
import { createLog, type Log } from './nats/log.ts';
import { ensureStreams } from './nats/streams.ts';
import { migrate } from './postgres/migrate.ts';
import { createPools, type Pools } from './postgres/pool.ts';
import type { PlannedPort } from './ports-free.ts';
import type { NatsAccess, Servers } from './servers.ts';

/** What every role works with. */
export type Context = Readonly<{
  config: Config;
  network: Network;
  logger: Logger;
  signal: AbortSignal;
  nats: NatsAccess;
  connection: NatsConnection;
  durability: Durability;
  log: Log;
  leases: Leases;
  postgres: pg.ClientConfig;
  pools: Pools;
}>;

/** Ports that a start opens, by the setting that names each. */
export function plannedPorts(config: Config): PlannedPort[] {
  const { host } = config;
  const opened = (needed: boolean, setting: string, port: number | undefined): PlannedPort[] =>
    needed && port !== undefined ? [{ setting, host, port }] : [];
  return [
    ...opened(config.roles.includes('indexer'), 'PORT', config.port),
    ...opened(config.natsUrl === undefined, 'NATS_PORT', config.natsPort),
    ...opened(config.natsUrl === undefined, 'NATS_WS_PORT', config.natsWsPort),
    ...opened(config.dbDsn === undefined, 'PG_PORT', config.pgPort),
    ...opened(config.isLocal && config.roles.includes('ledger'), 'LCD_PORT', config.lcdPort),
  ];
}

/**
 * Connects to the broker and the database and makes what is missing there: streams, buckets, the table of generations.
 *
 * Safe while other replicas do the same. Fails when the log is less durable than `DURABILITY` asks for.
 */
export async function openStores(
  config: Config,
  servers: Servers,
  { logger, signal }: { logger: Logger; signal: AbortSignal },
): Promise<Context> {
  const { network } = config;
  const connection = await connectNats({ ...servers.nats, name: `annals ${network}` });
  const durability = await readDurability(servers.nats.monitorUrl);
  const wanted = config.durability === '' && config.natsUrl === undefined ? 'strict' : config.durability;
  if (wanted !== '' && !meets(durability, wanted)) {
    await connection.close();
    throw new AppError(
      'UNAVAILABLE',
      `DURABILITY asks for ${wanted}, the log is ${durability}: set sync_interval on the nats-server, NATS_MONITOR_URL so that it can be read, or DURABILITY to less`,
    );
  }
  await ensureStreams(connection, network);
  const leases = createLeases(connection, network);
  const pools = createPools(servers.postgres, { applicationName: `annals ${network}` });
  await migrate({ pools, network });
  return {
    config,
    network,
    logger,
    signal,
    nats: servers.nats,
    connection,
    durability,
    log: createLog(connection, network),
    leases,
    postgres: servers.postgres,
    pools,
  };
}

const grades = ['unknown', 'relaxed', 'bounded', 'strict'] as const satisfies readonly Durability[];

function meets(grade: Durability, wanted: Durability): boolean {
  return grades.indexOf(grade) >= grades.indexOf(wanted);
}
