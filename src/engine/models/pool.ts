import type { Statement } from '../../kit/shims/pg/batch.ts';
import pg from 'pg';
import { CopyIn } from '../../kit/shims/pg/copy-in.ts';
import { sendTogether } from '../../kit/shims/pg/cork.ts';
import { parsersByOid } from './column-types.ts';
import { isDamage, toDatabaseError } from './database-error.ts';
import { projectionNames } from '../../projections/projection.ts';
import { createSlots, type Slots } from '../../kit/slots.ts';
import { type SessionSettings, withSettings } from './session-settings.ts';

/**
 * Connections by purpose.
 *
 * - `read` answers requests in batches; all statements of one transaction see the same instant.
 * - `watch` reads as `read` does, for readiness and figures: a burst of requests does not make the database look lost.
 * - `write` carries live batches.
 * - `bulk` carries rebuilds and changes of tables.
 * - `archive` is the archive's alone: neither a burst of facts nor a rebuild delays it.
 * - `load` fills and reads complete tables, with PostgreSQL's own plans.
 *
 * `write`, `bulk` and `archive` pipeline: statements sent without waiting go out together. `load` does not, so that it
 * can carry COPY.
 */
export type Pools = Readonly<{
  read: pg.Pool;
  watch: pg.Pool;
  write: pg.Pool;
  bulk: pg.Pool;
  archive: pg.Pool;
  load: pg.Pool;
  /** Rebuilds of this process: so many at a time that each has the connections that it needs. */
  builds: Slots;
  end: () => Promise<void>;
}>;

/** How the connections are named in `pg_stat_activity`, each pool's with its own word behind, and how many may read. */
export type DatabasePoolOptions = Readonly<{ applicationName: string; readers?: number }>;

const readTimeoutMs = 5000;
const connectTimeoutMs = 5000;
/** Readers queue for a connection that others use: a busy database is slow, one that is away is `connectTimeoutMs`. */
const readersWaitMs = 15_000;
/** A reader this slow has been cut off long before its generation's tables are dropped. */
const idleReaderMs = 30_000;
/** A frozen writer's locks are released after this. */
const idleWriterMs = 15_000;
const lifetimeSeconds = 600;
/**
 * Readers come in bursts and would wait for a new connection; writers can wait, and each connection takes some 5 MB.
 */
const storedIdleMs = { read: 10_000, others: 1_000 };

/** A rebuild takes a core for its fold and one or two for its indexes. */
const buildsAtOnce = 2;
/** Connections of `load` that a rebuild finishes its tables with; see `finishTables`. */
export const loadersOfBuild = 2;
const most = {
  /** Each projection has a batch under way, and a few connections read positions. */
  write: projectionNames.length + 3,
  /** Each rebuild holds one from start to end; two more are for dropping generations and for ending blockers. */
  bulk: buildsAtOnce + 2,
  load: buildsAtOnce * loadersOfBuild,
  archive: 4,
};

/** One plan per named statement, whatever its parameters. */
const readPlans = { plan_cache_mode: 'force_generic_plan', jit: 'off' };
/** Statements that are sent together see one instant, and change nothing. */
const readOnce = { default_transaction_isolation: 'repeatable read', default_transaction_read_only: 'on' };
/** Every write finds its rows by key; a plan made while a table was empty must not scan it once it is full. */
const writePlans = { ...readPlans, enable_seqscan: 'off', enable_hashjoin: 'off', enable_mergejoin: 'off' };
/** Loaded rows are lost with their rebuild anyway, until the switch; sorting for indexes gets some memory. */
const loadMemory = { jit: 'off', synchronous_commit: 'off', maintenance_work_mem: '128MB' };
/** Readers come first: a load takes one core for each of its connections and no more. */
const loadPlans = { ...loadMemory, max_parallel_workers_per_gather: '0', max_parallel_maintenance_workers: '0' };

/**
 * Opens the pools; no connection is made before one is needed.
 *
 * They survive restarts of the server: statements under way fail with `UNAVAILABLE`, later ones connect anew. Fails
 * with `INVALID_ARGUMENT` when the address of the database contradicts what a pool relies on.
 */
export function createPools(config: pg.ClientConfig, { applicationName, readers = 4 }: DatabasePoolOptions): Pools {
  const open = (name: string, settings: SessionSettings, more: pg.PoolConfig): pg.Pool =>
    openPool({
      ...withSettings(config, settings),
      application_name: `${applicationName} ${name}`,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      connectionTimeoutMillis: connectTimeoutMs,
      idleTimeoutMillis: storedIdleMs.others,
      maxLifetimeSeconds: lifetimeSeconds,
      pipeline: true,
      types: typesOf(parsers),
      ...more,
    });
  const reading = {
    pipeline: false,
    statement_timeout: readTimeoutMs,
    idle_in_transaction_session_timeout: idleReaderMs,
  };
  const queueing = { connectionTimeoutMillis: readersWaitMs, Client: BoundedConnect };
  const reads = { ...readPlans, ...readOnce };
  const read = open('read', reads, { ...reading, ...queueing, max: readers, idleTimeoutMillis: storedIdleMs.read });
  const watch = open('watch', reads, { ...reading, max: 1 });
  const writing = { idle_in_transaction_session_timeout: idleWriterMs };
  const write = open('write', writePlans, { ...writing, max: most.write, query_timeout: 60_000 });
  const bulk = open('bulk', writePlans, { ...writing, max: most.bulk });
  const archive = open('archive', writePlans, { ...writing, max: most.archive, types: typesOf(archiveParsers) });
  const load = open('load', loadPlans, { max: most.load, pipeline: false });
  const all = [read, watch, write, bulk, archive, load];
  const builds = createSlots(buildsAtOnce, 'A rebuild');
  return {
    read,
    watch,
    write,
    bulk,
    archive,
    load,
    builds,
    end: async () => {
      await Promise.all(all.map((pool) => pool.end()));
    },
  };
}

const damageListeners = new WeakMap<pg.Pool, Set<(damage: Error) => void>>();

/** Calls `tell` with answers that show damage in the database's own files, until the returned function is called. */
export function onDamage(
  { read, watch, write, bulk, archive, load }: Pools,
  report: (damage: Error) => void,
): () => void {
  const pools = [read, watch, write, bulk, archive, load];
  for (const pool of pools) {
    const listeners = damageListeners.get(pool) ?? new Set();
    damageListeners.set(pool, listeners.add(report));
  }
  return () => {
    for (const pool of pools) damageListeners.get(pool)?.delete(report);
  };
}

/** Reports an answer of the pool's database to the listeners, if it shows damage. */
export function reportDamage(pool: pg.Pool, caught: unknown): void {
  if (isDamage(caught)) for (const notify of damageListeners.get(pool) ?? []) notify(caught);
}

/**
 * Lends a connection; one that a failure was seen on is closed rather than used again.
 *
 * Failures of the database come as `toDatabaseError` makes them, all others as they are.
 */
export async function withClient<T>(pool: pg.Pool, use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  let client: pg.PoolClient | undefined;
  try {
    client = await pool.connect();
    const result = await use(client);
    client.release();
    return result;
  } catch (caught) {
    client?.release(true);
    reportDamage(pool, caught);
    throw toDatabaseError(caught);
  }
}

/** Runs one statement and returns its rows. */
export type RunQuery = <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>;

/** Runs statements on connections of a pool. */
export function throughPool(pool: pg.Pool): RunQuery {
  return async (text, values = []) => withClient(pool, async (client) => (await client.query(text, values)).rows);
}

/** Sends a statement. */
export function send(client: pg.ClientBase, statement: Statement): Promise<pg.QueryResult> {
  const { text, rows } = statement;
  if (rows === undefined) return client.query({ ...statement });
  const { promise, resolve, reject } = Promise.withResolvers<pg.QueryResult>();
  client.query(new CopyIn(text, rows, (error, result) => (error ? reject(error) : resolve(result))));
  return promise;
}

/**
 * Sends statements without waiting in between, so that they share a write, and waits for all answers; fails with the
 * first failure, when nothing is under way any more.
 */
export async function sendAll(client: pg.ClientBase, statements: readonly Statement[]): Promise<pg.QueryResult[]> {
  sendTogether(client);
  const answers = await Promise.allSettled(statements.map((statement) => send(client, statement)));
  return answers.map((answer) => {
    if (answer.status === 'rejected') throw answer.reason;
    return answer.value;
  });
}

/** A client whose own attempt to connect is bounded apart from the wait for a place in its pool. */
class BoundedConnect extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super({ ...config, connectionTimeoutMillis: connectTimeoutMs });
  }
}

function openPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config);
  const ignore = (): void => undefined;
  // A connection lost while idle, or between two statements, must not end the process; its next user gets the error.
  pool.on('error', ignore);
  pool.on('connect', (client) => client.on('error', ignore));
  return pool;
}

const parsers = new Map([...parsersByOid, [pg.types.builtins.TIMESTAMPTZ, String]]);
/** The archive writes and reads bodies as bytes. */
const archiveParsers = new Map(parsers);
archiveParsers.delete(pg.types.builtins.BYTEA);

/** How the archive's columns are read on connections of any pool: bytes as bytes. */
export const archiveTypes = (): pg.CustomTypesConfig => typesOf(archiveParsers);

const typesOf = (own: ReadonlyMap<number, (text: string) => unknown>): pg.CustomTypesConfig => ({
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    (format !== 'binary' && own.get(oid)) || pg.types.getTypeParser(oid, 'text'),
});
