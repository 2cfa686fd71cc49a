import type pg from 'pg';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { AnyProjection } from '../../../src/projections/all.ts';
import { type Generation, liveGeneration } from '../../../src/engine/models/engine/generations.ts';
import { migrate } from '../../../src/engine/models/migrate.ts';
import { createPools, type Pools } from '../../../src/engine/models/pool.ts';
import { runProjector } from '../../../src/engine/models/engine/projector.ts';
import { createReader, type Reader } from '../../../src/engine/models/read/reading.ts';
import type { Leasing } from '../../../src/engine/log/leases.ts';
import type { FactSource } from '../../../src/engine/models/engine/source.ts';
import { freshDatabase, freshNetwork } from '../../support/programs/servers.ts';
import { generousLeases } from './memory-log.ts';
import { small } from './small-projection.ts';

/** A logger that says nothing. */
export const silent = pino({ level: 'silent' });

/** A migrated database of a network of its own, with what reads it. */
export type Database = Readonly<{
  config: Awaited<ReturnType<typeof freshDatabase>>;
  network: string;
  pools: Pools;
  reader: Reader;
  live: (projection?: string) => Promise<Generation | undefined>;
  tables: () => Promise<SmallTables>;
}>;

/** Everything that the small projection keeps. */
export type SmallTables = Readonly<{ nodes: unknown[]; past: unknown[]; notes: unknown[]; counters: unknown[] }>;

/** Opens a new database for a test, closed when it is over. */
export async function openDatabase(): Promise<Database> {
  const database = databaseOf(await freshDatabase(), freshNetwork());
  await migrate(database);
  return database;
}

/** The same over a database that is there already. */
export function databaseOf(config: Database['config'], network: string): Database {
  const pools = createPools(config, { applicationName: 'annals test' });
  onTestFinished(() => pools.end());
  const reader = createReader({ pools, network, projections: [] });
  return {
    config,
    network,
    pools,
    reader,
    live: (projection = small.name) => liveGeneration(pools.read, { network, projection }),
    tables: () => reader.read(({ schemas }) => dump(pools, schemas[small.name])),
  };
}

/** The tables of a generation, in the order of their keys. */
export async function dump({ read }: Pools, schema: string): Promise<SmallTables> {
  const rows = async (table: string, key: string) =>
    (await read.query(`select * from ${schema}.${table} order by ${key}`)).rows;
  return {
    nodes: await rows('nodes', 'id'),
    past: (await rows('nodes_past', 'id, position')).map((row: object) =>
      Object.fromEntries(Object.entries(row).filter(([name]) => name !== 'level')),
    ),
    notes: await rows('notes', 'id, note'),
    counters: await rows('counters', 'of, name'),
  };
}

/** Runs a projector until the test, or `stop`, ends it. */
export function startProjector(
  { pools, network }: Database,
  source: FactSource,
  { projections = [small], leases = generousLeases }: { projections?: readonly AnyProjection[]; leases?: Leasing } = {},
): { stop: () => Promise<void> } {
  const ending = new AbortController();
  const running = runProjector({ pools, source, leases, projections, network, log: silent, signal: ending.signal });
  const stop = async (): Promise<void> => {
    ending.abort();
    await running;
  };
  onTestFinished(stop);
  return { stop };
}

/** Trips of a transaction that reads, beside those of its statements: one ends the one before, begins it and looks. */
export const tripsOfTransaction = 1;

/**
 * Counts how often something is sent on connections that a pool has lent since; statements that are sent together count
 * once, and an end that waited for no other transaction does not.
 */
export function countTrips({ read }: Pick<Pools, 'read'>, onTrip: () => void = () => undefined): () => number {
  const watched = new WeakSet<pg.PoolClient>();
  let trips = 0;
  read.on('acquire', (client) => {
    if (watched.has(client)) return;
    watched.add(client);
    const { connection } = client as unknown as Readonly<{ connection: pg.Connection }>;
    const [bind, sync] = [connection.bind.bind(connection), connection.sync.bind(connection)];
    let last: string | undefined;
    connection.bind = (config, more) => {
      last = config?.statement;
      bind(config, more);
    };
    connection.sync = () => {
      sync();
      if (last === 'read.commit') return;
      trips += 1;
      onTrip();
    };
  });
  return () => trips;
}
