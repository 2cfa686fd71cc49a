import path from 'node:path';
import type pg from 'pg';
import type { Config } from './config.ts';
import { lockDir } from './embedded/dir-lock.ts';
import { type EmbeddedNats, startNats } from './embedded/nats-server.ts';
import { watchWrites } from './embedded/nats-writes.ts';
import { startPostgres } from './embedded/postgres.ts';
import { dataFolder } from './instance.ts';
import { keepRunning } from './keep-running.ts';
import type { Logger } from './log.ts';
import { assertPortsFree, plannedPorts } from './ports-free.ts';

/** Where the log is, and who we are there. */
export type NatsAccess = Readonly<{
  url: string;
  user?: string;
  pass?: string;
  wsUrl?: string;
  /** Where the server can be asked about itself; to be read anew each time, for it changes when an embedded server starts again. */
  monitorUrl?: string;
  from: string;
}>;

/** The two stores, embedded or external. */
export type Servers = Readonly<{
  nats: NatsAccess;
  postgres: pg.ClientConfig;
  stop: () => Promise<void>;
}>;

/**
 * Starts the embedded servers that no setting replaces, both at once, and starts one again when it dies unasked.
 *
 * Addresses stay the same over restarts, so that clients find a server again by themselves. Fails before anything is started when a
 * port of the whole program is taken, or another process uses the data folder.
 */
export async function startServers(config: Config, log: Logger, signal: AbortSignal): Promise<Servers> {
  await assertPortsFree(plannedPorts(config));
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
    stop: async () => {
      await Promise.all([nats?.stop(), postgres?.stop()]);
    },
  };
}

type Tools = Readonly<{ log: Logger; say: (message: string) => void; signal: AbortSignal }>;

async function embeddedNats(
  config: Config,
  dir: string,
  tools: Tools,
): Promise<{ access: NatsAccess; stop: () => Promise<void> }> {
  let ports = { port: config.natsPort, wsPort: config.natsWsPort };
  const start = (signal: AbortSignal): Promise<EmbeddedNats> =>
    startNats({ dir, host: config.host, ...ports, say: tools.say, signal });
  const first = await start(tools.signal);
  ports = { port: Number(new URL(first.url).port), wsPort: Number(new URL(first.wsUrl).port) };
  const { url, wsUrl, user, pass, from } = first;
  const { current, stop } = keepRunning('nats-server', first, start, tools);
  const unwatch = watchWrites(current, dir, {
    onStuck: (reason) =>
      tools.log.error({ reason }, 'the broker could not write; there is room again, so it is started anew'),
  });
  return {
    access: {
      url,
      wsUrl,
      user,
      pass,
      from,
      get monitorUrl() {
        return current().monitorUrl;
      },
    },
    stop: () => {
      unwatch();
      return stop();
    },
  };
}

async function embeddedPostgres(
  config: Config,
  dir: string,
  tools: Tools,
): Promise<{ access: pg.ClientConfig; stop: () => Promise<void> }> {
  const start = (signal: AbortSignal): ReturnType<typeof startPostgres> =>
    startPostgres({ dir, pgPort: config.pgPort, password: config.postgresPassword, say: tools.say, signal });
  const first = await start(tools.signal);
  return { access: first.config, stop: keepRunning('PostgreSQL', first, start, tools).stop };
}
