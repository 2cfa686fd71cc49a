import path from 'node:path';
import type pg from 'pg';
import type { Config } from '../config.ts';
import { lockDir } from './lock.ts';
import { embeddedNats, embeddedPostgres, type NatsAccess } from './embedded-servers.ts';
import { dataFolder } from '../kit/instance.ts';
import type { Logger } from '../kit/logger.ts';

/** The two stores, embedded or external. */
export type Servers = Readonly<{
  nats: NatsAccess;
  postgres: pg.ClientConfig;
  /** Where the files of an embedded database lie, and what sets them aside, running or not, and makes new ones. */
  database: Readonly<{ folder: string; replace: () => Promise<void> }> | undefined;
  stop: () => Promise<void>;
}>;

/**
 * Starts the embedded servers that no setting replaces, both at once, and starts one again when it dies unasked.
 *
 * Addresses stay the same over restarts, so that clients find a server again by themselves. Fails before anything is
 * started when another process uses the data folder.
 */
export async function startServers(config: Config, log: Logger, signal: AbortSignal): Promise<Servers> {
  if (config.natsUrl === undefined || config.dbDsn === undefined) await lockDir(dataFolder(config));
  const say = (message: string): void => log.info(message);
  const folder = dataFolder(config);
  const [nats, postgres] = await Promise.all([
    config.natsUrl === undefined ? embeddedNats(config, path.join(folder, 'nats'), { log, say, signal }) : undefined,
    config.dbDsn === undefined ? embeddedPostgres(config, path.join(folder, 'db'), { log, say, signal }) : undefined,
  ]);
  return {
    nats: nats?.access ?? {
      url: config.natsUrl ?? '',
      from: 'NATS_URL',
      ...(config.natsMonitorUrl === undefined ? {} : { monitorUrl: config.natsMonitorUrl }),
    },
    postgres: postgres?.access ?? { connectionString: config.dbDsn },
    database: postgres && { folder: postgres.folder, replace: postgres.replace },
    stop: async () => {
      await Promise.all([nats?.stop(), postgres?.stop()]);
    },
  };
}
