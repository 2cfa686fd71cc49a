import pg from 'pg';
import { projectionNames } from '../../src/projections/projection.ts';
import { connectNats } from '../../src/engine/log/connection.ts';
import { createLeases } from '../../src/engine/log/leases.ts';
import { type HeldLink, heldLink } from '../support/programs/held-link.ts';
import type { NatsCluster } from '../support/programs/nats-cluster.ts';
import { until } from '../support/polling.ts';
import { hasPostgres13, startPostgres13 } from '../support/programs/postgres-13.ts';
import { dataFolder, type Program, startProgram } from '../support/programs/program.ts';
import { freshDatabase, freshNetwork } from '../support/programs/servers.ts';
import { figuresOf } from '../support/figures.ts';

/** A process of some roles, and its links to the stores. */
export type Replica = Readonly<{ program: Program; nats: HeldLink; postgres: HeldLink }>;

/** The stores that replicas share. */
export type Stores = Readonly<{
  network: string;
  cluster: NatsCluster;
  database: pg.ClientConfig;
  /** Of the database server. */
  version: string;
  close: () => Promise<void>;
}>;

/** The majors of PostgreSQL that there are for this platform. */
export const majors = hasPostgres13 ? [18, 13] : [18];

/** Every lease of an indexer and of a projector. */
export const indexerLeases = ['sync', 'probe'];
export const projectorLeases = projectionNames.map((name) => `projection.${name}`);

/** A new database of a major, and a network name that nobody else uses on the cluster. */
export async function openStores(cluster: NatsCluster, major: number): Promise<Stores> {
  const network = freshNetwork();
  if (major === 18)
    return { network, cluster, database: await freshDatabase(), version: '18', close: async () => undefined };
  const { config, version, stop } = await startPostgres13();
  const client = new pg.Client({ ...config, database: 'postgres' });
  await client.connect();
  await client.query('create database annals');
  await client.end();
  return { network, cluster, database: { ...config, database: 'annals' }, version, close: stop };
}

const intervals = {
  ACTIONS_SYNC_INTERVAL: '200ms',
  SUPERNODES_SYNC_INTERVAL: '300ms',
  VALIDATORS_SYNC_INTERVAL: '400ms',
  PROBE_INTERVAL: '500ms',
};

/** Starts a process of one role on external stores, which it reaches over links of its own. */
export async function startReplica(stores: Stores, role: string, chainUrl: string): Promise<Replica> {
  const { network, cluster, database } = stores;
  const [{ host: node, username, password }] = cluster.url.split(',').map((url) => new URL(url)) as [URL];
  const [address = '', port = ''] = node.split(':');
  const nats = await heldLink({ host: address, port: Number(port) });
  const postgres = await heldLink({ path: `${database.host}/.s.PGSQL.${database.port}` });
  const env = {
    ...intervals,
    ROLES: role,
    CHAIN_API_BASE: chainUrl,
    NATS_URL: `nats://${username}:${password}@127.0.0.1:${nats.port}`,
    DB_DSN: `postgres://postgres@127.0.0.1:${postgres.port}/${database.database}`,
  };
  const program = await startProgram({ dataDir: dataFolder(), network, env }).catch((caught: unknown) => {
    nats.close();
    postgres.close();
    throw caught;
  });
  void program.exited.then(() => [nats, postgres].forEach((link) => link.close()));
  return { program, nats, postgres };
}

/** A figure that a process tells of itself; undefined where it tells none. */
export async function figure({ program }: Replica, name: string): Promise<number | undefined> {
  const text = await figuresOf(program.base);
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}

/** Waits until a process holds all of these leases. */
export async function untilHolds(replica: Replica, leases: readonly string[]): Promise<void> {
  await until(`one process holds ${leases.join(', ')}`, async () => {
    const held = await Promise.all(leases.map((lease) => figure(replica, `annals_lease_held{lease="${lease}"}`)));
    return held.every((one) => one === 1);
  });
}

/** The one of two processes that holds a lease, first. */
export async function byLease(pair: readonly Replica[], lease: string): Promise<[holder: Replica, other: Replica]> {
  const holder = await until(`somebody holds ${lease}`, async () => {
    const held = await Promise.all(pair.map((one) => figure(one, `annals_lease_held{lease="${lease}"}`)));
    return pair[held.indexOf(1)];
  });
  const other = pair.find((one) => one !== holder);
  if (!other) throw new Error(`Nobody else is there to take ${lease}`);
  return [holder, other];
}

/** Holds leases in the place of a replica until the returned function is called, so that nothing new is written. */
export async function holdLeases({ network, cluster }: Stores, names: readonly string[]): Promise<() => Promise<void>> {
  const connection = await connectNats({ url: cluster.url, name: 'test' });
  const ending = new AbortController();
  const leases = createLeases(connection, network);
  const held = names.map(async (name) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const done = leases.hold(name, ending.signal, async ({ signal }) => {
      resolve();
      await new Promise((end) => signal.addEventListener('abort', end));
    });
    await promise;
    return done;
  });
  const ended = Promise.all(held);
  await until('the test holds the leases', async () => {
    const holders = await Promise.all(names.map((name) => leases.holder(name)));
    return new Set(holders).size === 1 && holders[0] !== undefined;
  });
  return async () => {
    ending.abort();
    await ended;
    await connection.close();
  };
}

/** What is asked of every replica: each kind of answer, bodies and positions as they come. */
export async function answersOf(base: string): Promise<ReadonlyMap<string, string>> {
  const nodes = ['', '?status=available', '?currentState=active'].map((query) => `/v1/supernodes/metrics${query}`);
  const lists = ['', '&type=sense', '&state=approved', '&include_transactions=true'];
  const paths = [
    ...lists.map((query) => `/v1/actions?limit=50${query}`),
    ...Array.from({ length: 12 }, (_, n) => `/v1/actions/${1 + 2 * n}`),
    ...['action-stats', 'stats', 'unavailable'].map((what) => `/v1/supernodes/${what}`),
    ...nodes,
    '/v1/actions/stats',
    '/v1/version/matrix',
  ];
  const answers = await Promise.all(
    paths.map(async (path) => {
      const response = await fetch(base + path);
      const position = response.headers.get('annals-position') ?? '';
      return [path, `${response.status} ${position} ${await response.text()}`] as const;
    }),
  );
  return new Map(answers);
}

/** All actions, page by page. */
export async function allActions(base: string): Promise<unknown[]> {
  const all: unknown[] = [];
  for (let cursor = ''; ;) {
    const page = await fetch(`${base}/v1/actions?include_transactions=true${cursor}`);
    const body = (await page.json()) as { actions: unknown[]; cursor?: string | null };
    all.push(...body.actions);
    if (typeof body.cursor !== 'string') return all;
    cursor = `&cursor=${body.cursor}`;
  }
}
