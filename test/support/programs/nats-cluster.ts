import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { jetstreamManager } from '@nats-io/jetstream';
import { type Daemon, startDaemon } from '../../../src/engine/servers/daemon.ts';
import { fetchNats } from '../../../src/engine/servers/nats/fetch-nats.ts';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { until } from '../polling.ts';
import { steadyPort } from './steady-port.ts';

/** One server of a cluster. */
export type ClusterNode = Readonly<{
  name: string;
  /** For clients without credentials. */
  url: string;
  wsUrl: string;
  monitorUrl: string;
  /** Ends it as `kill -9` does, and waits until it is gone. */
  kill: () => Promise<void>;
  /** Starts it again on its folder and ports. */
  start: () => void;
}>;

/** Several nats-servers that run with `infra/nats/nats.conf`. */
export type NatsCluster = Readonly<{
  /** For `NATS_URL`: all servers, with the credentials of the service. */
  url: string;
  user: string;
  pass: string;
  nodes: readonly ClusterNode[];
  /** The name of the server that leads a stream. */
  leaderOf: (stream: string) => Promise<ClusterNode>;
  /** Resolves when every copy of every stream is there and current. */
  untilWhole: () => Promise<void>;
  stop: () => Promise<void>;
}>;

/** The configuration that operators are given. */
export const natsConf = fileURLToPath(new URL('../../../infra/nats/nats.conf', import.meta.url));
const user = 'annals';
const pass = 'for-the-tests';

/** Starts a cluster on free ports of the loopback address; whoever starts it stops it. `size` 1: a single server. */
export async function startNatsCluster(size = 3): Promise<NatsCluster> {
  const folder = mkdtempSync(path.join(tmpdir(), 'annals-cluster-'));
  chmodSync(folder, 0o711);
  const { file: program } = await fetchNats({ say: () => undefined });
  const ports = await Promise.all(Array.from({ length: 4 * size }, steadyPort));
  const places = Array.from({ length: size }, (_, n) => {
    const [client = 0, webSocket = 0, monitor = 0, route = 0] = ports.slice(4 * n);
    return { name: `n${n + 1}`, client, webSocket, monitor, route };
  });
  const routes = places.map(({ route }) => `nats://127.0.0.1:${route}`).join(',');
  const daemons = new Map<string, Daemon>();
  const nodes = places.map(({ name, client, webSocket, monitor, route }): ClusterNode => {
    const config = path.join(folder, `${name}.conf`);
    writeFileSync(config, onPorts({ client, webSocket, monitor, store: path.join(folder, name) }));
    const inCluster = ['--cluster_name', 'annals', '--cluster', `nats://127.0.0.1:${route}`, '--routes', routes];
    const start = (): void => {
      const args = ['-c', config, '--name', name, ...(size > 1 ? inCluster : [])];
      const env = { ANNALS_NATS_PASSWORD: pass };
      const logFile = path.join(folder, `${name}.log`);
      daemons.set(name, startDaemon({ command: program, args, env, logFile, stopSignal: 'SIGTERM' }));
    };
    start();
    return {
      name,
      url: `nats://127.0.0.1:${client}`,
      wsUrl: `ws://127.0.0.1:${webSocket}`,
      monitorUrl: `http://127.0.0.1:${monitor}`,
      start,
      kill: async () => {
        const daemon = daemons.get(name);
        if (daemon) process.kill(daemon.pid, 'SIGKILL');
        await daemon?.exited;
      },
    };
  });
  const url = nodes.map((node) => node.url.replace('//', `//${user}:${pass}@`)).join(',');
  const stop = async (): Promise<void> => {
    await Promise.all([...daemons.values()].map((daemon) => daemon.stop()));
    rmSync(folder, { recursive: true, force: true });
  };
  const cluster = {
    url,
    user,
    pass,
    nodes,
    stop,
    leaderOf: leaderOf(url, nodes),
    untilWhole: () => untilWhole(url, size),
  };
  await untilAnswers(url, size).catch(async (caught: unknown) => {
    await stop();
    throw caught;
  });
  return cluster;
}

/** The file as operators get it, with its ports and its folder replaced by those of a test. */
function onPorts(place: { client: number; webSocket: number; monitor: number; store: string }): string {
  return Object.entries({
    '0.0.0.0:4222': `127.0.0.1:${place.client}`,
    '0.0.0.0:4223': `127.0.0.1:${place.webSocket}`,
    '0.0.0.0:8222': `127.0.0.1:${place.monitor}`,
    '/data/js': place.store,
  }).reduce(
    (text, [given, own]) => {
      if (!text.includes(given)) throw new Error(`${natsConf} does not say ${given}`);
      return text.replaceAll(given, own);
    },
    readFileSync(natsConf, 'utf8'),
  );
}

async function untilAnswers(url: string, size: number): Promise<void> {
  await until('the cluster has a leader', () =>
    withManager(url, async (manager) => {
      await manager.streams.add({ name: 'PROBE_OF_TEST', num_replicas: size, subjects: ['probe.of.test'] });
      return await manager.streams.delete('PROBE_OF_TEST');
    }),
  );
}

async function untilWhole(url: string, size: number): Promise<void> {
  await until('every copy is current', () =>
    withManager(url, async (manager) => {
      for await (const { cluster } of manager.streams.list()) {
        const current = (cluster?.replicas ?? []).filter((one) => one.current && !one.offline);
        if (cluster?.leader === undefined || current.length !== size - 1) return false;
      }
      return true;
    }),
  );
}

function leaderOf(url: string, nodes: readonly ClusterNode[]): (stream: string) => Promise<ClusterNode> {
  return (stream) =>
    until(`${stream} has a leader`, () =>
      withManager(url, async (manager) => {
        const { cluster } = await manager.streams.info(stream);
        return nodes.find(({ name }) => name === cluster?.leader);
      }),
    );
}

type Manager = Awaited<ReturnType<typeof jetstreamManager>>;

async function withManager<T>(url: string, use: (manager: Manager) => Promise<T>): Promise<T> {
  const connection = await connectNats({ url, name: 'test' });
  try {
    return await use(await jetstreamManager(connection));
  } finally {
    await connection.close();
  }
}
