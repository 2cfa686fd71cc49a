import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import type { Config } from '../config.ts';
import { type EmbeddedNats, startNats } from './nats/nats-server.ts';
import { watchServer } from './nats/nats-watch.ts';
import { startPostgres } from './postgres/postgres.ts';
import { clusterFolder, setClusterAside } from './postgres/postgres-cluster.ts';
import { keepRunning } from '../kit/supervise.ts';
import type { Logger } from '../kit/logger.ts';

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

type Tools = Readonly<{ log: Logger; say: (message: string) => void; signal: AbortSignal }>;

/** Starts the embedded nats-server and keeps it running. */
export async function embeddedNats(
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
export type RunningPostgres = Readonly<{
  access: pg.ClientConfig;
  folder: string;
  replace: () => Promise<void>;
  stop: () => Promise<void>;
}>;

/** Starts the embedded PostgreSQL and keeps it running. */
export async function embeddedPostgres(config: Config, dir: string, tools: Tools): Promise<RunningPostgres> {
  let isDamaged = false;
  const start = async (signal: AbortSignal): ReturnType<typeof startPostgres> => {
    if (isDamaged) await setClusterAside(dir, tools.say);
    isDamaged = false;
    return startPostgres({ dir, pgPort: config.pgPort, password: config.postgresPassword, say: tools.say, signal });
  };
  const first = await start(tools.signal);
  const { current, stop } = keepRunning('PostgreSQL', first, start, tools);
  const replace = async (): Promise<void> => {
    isDamaged = true;
    const before = current();
    await before.stop();
    while (current() === before && !tools.signal.aborted) await pause(50);
  };
  return { access: first.config, folder: clusterFolder(dir), replace, stop };
}
