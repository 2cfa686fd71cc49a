import { randomBytes } from 'node:crypto';
import { jetstreamManager } from '@nats-io/jetstream';
import pg from 'pg';
import { inject } from 'vitest';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { streamName } from '../../../src/engine/log/streams.ts';
import type { Servers } from '../../../src/engine/servers/servers.ts';
import { streams } from '../../../src/events/streams.ts';

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

/** The networks of the file that runs now. */
const networks = new Set<string>();

/** A network name nobody else uses, so that a test file has streams, buckets and schemas of its own. */
export function freshNetwork(): string {
  const network = `test_${random()}`;
  networks.add(network);
  return network;
}

/**
 * Deletes the streams of the networks that were begun since the last call: the broker looks through all of its streams
 * for each that is made or listed, and at the end of a run that would be seven thousand.
 */
export async function removeNetworks(): Promise<void> {
  const names = [...networks].flatMap((network) => [
    ...streams.map((stream) => streamName(stream, network)),
    `KV_annals_${network}`,
  ]);
  networks.clear();
  if (names.length === 0) return;
  const connection = await connectNats({ ...testNats(), name: 'test' });
  try {
    const manager = await jetstreamManager(connection, { checkAPI: false });
    await Promise.allSettled(names.map((name) => manager.streams.delete(name)));
  } finally {
    await connection.close();
  }
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
