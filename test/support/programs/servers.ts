import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import type { Servers } from '../../../src/engine/servers/servers.ts';

/** The run's nats-server: `user` and `pass` for ourselves; without them one is an outsider. */
export function testNats(): { url: string; user: string; pass: string; wsUrl: string; monitorUrl: string } {
  return inject('nats');
}

/** A new empty database on the run's PostgreSQL; it goes away with the server. */
export async function freshDatabase(): Promise<pg.ClientConfig> {
  const server = inject('postgres');
  const database = `test_${random()}`;
  const client = new pg.Client({ ...server, database: 'postgres' });
  await client.connect();
  try {
    await client.query(`create database ${database}`);
  } finally {
    await client.end();
  }
  return { ...server, database };
}

/** A network name nobody else uses, so that a test file has streams, buckets and schemas of its own. */
export function freshNetwork(): string {
  return `test_${random()}`;
}

const random = () => randomBytes(6).toString('hex');

/** The servers of the run as a start of the program hands them on: a database of their own, data in `folder`. */
export async function serversIn(folder: string): Promise<Servers> {
  return {
    nats: { ...testNats(), from: 'a test' },
    postgres: await freshDatabase(),
    folder,
    database: undefined,
    stop: async () => undefined,
  };
}
