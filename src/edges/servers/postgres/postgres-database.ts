import pg from 'pg';
import { lowerBackend } from '../give-way.ts';
import { isNeeded, knownFilesQuery } from './relation-files.ts';

/** Names the socket's file; no port of this number is opened. */
export const SOCKET_NUMBER = 5432;

/** The server's only role. */
export const USER = 'postgres';

/** The database that the program uses. */
export const DATABASE = 'annals';

/** Makes the database when it is missing, sets the password that TCP asks for, and returns the server's version. */
export function prepareDatabase(config: pg.ClientConfig, password?: string): Promise<string> {
  return withMaintenance(config, async (client) => {
    const { rows } = await client.query<{ version: string; made: boolean }>(
      `select current_setting('server_version') as version, exists (select from pg_database where datname = $1) as made`,
      [DATABASE],
    );
    if (!rows[0]?.made) await client.query(`create database ${DATABASE}`);
    if (password !== undefined) await client.query(`alter role ${USER} password ${client.escapeLiteral(password)}`);
    return rows[0]?.version ?? 'unknown';
  });
}

/** Which of some files of the cluster have to be there, as far as the server's own database tells. */
export async function neededOf(config: pg.ClientConfig, files: readonly string[]): Promise<string[]> {
  if (files.length === 0) return [];
  return withClient(config, async (client) => {
    const { rows } = await client.query<{ file: string }>(knownFilesQuery);
    const known = new Set(rows.map(({ file }) => file));
    return files.filter((file) => isNeeded(file, known));
  });
}

/**
 * Indexes before tables, each with those made last first, as many as fit into the server's memory for pages; of the last one its end,
 * where the newest rows are.
 */
const mostUseful = `
  with model as (
    select one.oid, one.relkind, pages, sum(pages) over (order by one.relkind, one.oid desc) as so_far, most
    from pg_class one
      join pg_namespace home on home.oid = one.relnamespace,
      lateral (select pg_relation_size(one.oid) / current_setting('block_size')::int as pages) size,
      (select setting::int as most from pg_settings where name = 'shared_buffers') memory
    where one.relkind in ('i', 'r') and home.nspname ~ '^annals_.*_g[0-9]+$'
  )
  select oid, greatest(so_far - most, 0)::int8 as first from model
  where so_far - pages < most and pages > 0
  order by relkind, oid desc`;

/**
 * Reads the read models into the memory of a server that has just started, with its own `pg_prewarm`: by itself it reads a page when it
 * is first asked for, and requests would wait for that all through the first minute.
 *
 * Gives way to whoever is there already. Never fails: what cannot be read is told to whoever needs it. Ends with the server, if not
 * before.
 */
export async function prewarm(config: pg.ClientConfig): Promise<void> {
  const ignore = (): void => undefined;
  const warming = withClient({ ...config, application_name: 'annals prewarm' }, async (client) => {
    const { rows } = await client.query<{ oid: number; first: string }>(mostUseful);
    if (rows.length === 0) return;
    await lowerBackend(client);
    await client.query('create extension if not exists pg_prewarm');
    for (const { oid, first } of rows)
      await client.query('select pg_prewarm($1::oid, first_block => $2::int8)', [oid, first]).catch(ignore);
  });
  await warming.catch(ignore);
}

/** Fails while the server does not take connections. */
export function assertAnswers(config: pg.ClientConfig): Promise<void> {
  return withMaintenance(config, async (client) => {
    await client.query('select 1');
  });
}

/** Works on the database that every server has. */
function withMaintenance<T>(config: pg.ClientConfig, work: (client: pg.Client) => Promise<T>): Promise<T> {
  return withClient({ ...config, database: 'postgres' }, work);
}

async function withClient<T>(config: pg.ClientConfig, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(config);
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
