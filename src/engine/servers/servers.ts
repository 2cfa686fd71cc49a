import path from 'node:path';
import type pg from 'pg';
import type { StoreConfig } from './settings.ts';
import { dataFolder } from './instance.ts';
import type { Logger } from '../../kit/logger.ts';
import { poll } from '../../kit/repeat.ts';
import { keepRunning } from '../../kit/supervise.ts';
import { lockDir } from './lock.ts';
import { type EmbeddedNats, startNats } from './nats/nats-server.ts';
import { watchServer } from './nats/nats-watch.ts';
import { clusterFolder, setClusterAside } from './postgres/postgres-cluster.ts';
import { type EmbeddedPostgres, startPostgres } from './postgres/postgres.ts';

/** The two stores, embedded or external. */
export type Servers = Readonly<{
  nats: NatsAccess;
  postgres: pg.ClientConfig;
  /** Where the files of an embedded database lie, and what sets them aside, running or not, and makes new ones. */
  database: Readonly<{ folder: string; replace: () => Promise<void> }> | undefined;
  /** The folder of the network's data; external servers store nothing in it. */
  folder: string;
  stop: () => Promise<void>;
}>;

/**
 * Starts the embedded servers that no setting replaces, both at once, and starts one again when it dies unexpectedly.
 *
 * Addresses stay the same over restarts, so that clients reconnect to a server. Fails before anything is started when
 * another process uses the data folder.
 */
export async function startServers(config: StoreConfig, log: Logger, signal: AbortSignal): Promise<Servers> {
  if (config.natsUrl === undefined || config.dbDsn === undefined) await lockDir(dataFolder(config));
  const report = (message: string): void => log.info(message);
  const folder = dataFolder(config);
  const [nats, postgres] = await Promise.all([
    config.natsUrl === undefined
      ? embeddedNats(config, path.join(folder, 'nats'), { log, say: report, signal })
      : undefined,
    config.dbDsn === undefined
      ? embeddedPostgres(config, path.join(folder, 'db'), { log, say: report, signal })
      : undefined,
  ]);
  return {
    nats: nats?.access ?? {
      url: config.natsUrl ?? '',
      from: 'NATS_URL',
      monitorUrl: config.natsMonitorUrl,
    },
    postgres: postgres?.access ?? { connectionString: config.dbDsn },
    folder,
    database: postgres && { folder: postgres.folder, replace: postgres.replace },
    stop: async () => {
      await Promise.all([nats?.stop(), postgres?.stop()]);
    },
  };
}

/** The address of the log, and the credentials for it. */
type NatsAccess = Readonly<{
  url: string;
  user?: string;
  pass?: string;
  wsUrl?: string;
  /** The server's monitoring address; read it anew each time, for it changes when an embedded server starts again. */
  monitorUrl?: string | undefined;
  from: string;
}>;

type Tools = Readonly<{ log: Logger; say: (message: string) => void; signal: AbortSignal }>;

/** Starts the embedded nats-server and keeps it running. */
async function embeddedNats(
  config: StoreConfig,
  dir: string,
  tools: Tools,
): Promise<{ access: NatsAccess; stop: () => Promise<void> }> {
  let ports = { port: config.natsPort, wsPort: config.natsWsPort };
  const start = (signal: AbortSignal): Promise<EmbeddedNats> =>
    startNats({ dir, host: config.host, ...ports, mayReplace, say: tools.say, signal });
  const mayReplace = once();
  const first = await start(tools.signal);
  ports = { port: Number(new URL(first.url).port), wsPort: Number(new URL(first.wsUrl).port) };
  const { url, wsUrl, user, pass, from } = first;
  const { current, stop } = keepRunning('nats-server', first, start, tools);
  const unwatch = watchServer(current, dir, {
    say: tools.say,
    onStuck: (reason) => tools.log.error({ reason }, 'the broker is stuck and is started anew'),
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

/** An embedded PostgreSQL; `replace` sets its cluster aside, while it runs, and makes a new one. */
type RunningPostgres = Readonly<{
  access: pg.ClientConfig;
  folder: string;
  replace: () => Promise<void>;
  stop: () => Promise<void>;
}>;

/** Returns true once: a store is renamed at most once while this process runs; after that its operator has to check. */
function once(): () => boolean {
  let isLeft = true;
  return () => {
    const may = isLeft;
    isLeft = false;
    return may;
  };
}

/** Starts the embedded PostgreSQL and keeps it running. */
async function embeddedPostgres(config: StoreConfig, dir: string, tools: Tools): Promise<RunningPostgres> {
  const mayReplace = once();
  const { pgPort, postgresPassword: password } = config;
  const start = (signal: AbortSignal): ReturnType<typeof startPostgres> =>
    startPostgres({ dir, pgPort, password, mayReplace, say: tools.say, signal });
  const first = await start(tools.signal);
  let damaged: EmbeddedPostgres | undefined;
  const startAgain = async (signal: AbortSignal): ReturnType<typeof startPostgres> => {
    // Only the cluster that ran when the damage was reported is renamed; a crash of its successor is an ordinary one.
    if (damaged !== undefined && damaged === current()) await setClusterAside(dir, tools.say);
    damaged = undefined;
    return await start(signal);
  };
  const { current, stop } = keepRunning('PostgreSQL', first, startAgain, tools);
  const replace = async (): Promise<void> => {
    const before = current();
    damaged = before;
    await before.stop();
    await poll(() => (current() === before ? undefined : true), { everyMs: 50, signal: tools.signal });
  };
  return { access: first.config, folder: clusterFolder(dir), replace, stop };
}
