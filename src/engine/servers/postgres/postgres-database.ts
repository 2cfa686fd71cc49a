import pg from 'pg';

/** Names the socket's file; no port of this number is opened. */
export const SOCKET_NUMBER = 5432;

/** The server's only role. */
export const USER = 'postgres';

/** The database that the program uses. */
export const DATABASE = 'annals';

/** Makes the database when it is missing, sets the password for TCP, and returns the server's version. */
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
