import { connect } from '@nats-io/transport-node';
import pg from 'pg';
import { expect, test } from 'vitest';
import { freshDatabase, freshNetwork, testNats } from '../../support/servers.ts';

test('freshDatabase gives an empty database of its own', async () => {
  const client = new pg.Client(await freshDatabase());
  await client.connect();
  const { rows } = await client.query('select count(*)::int as tables from pg_stat_user_tables');
  await client.end();
  expect(rows).toEqual([{ tables: 0 }]);
});

test('testNats lets ourselves in with JetStream', async () => {
  const { url, user, pass } = testNats();
  const connection = await connect({ servers: url, user, pass });
  expect(connection.info?.jetstream).toBe(true);
  await connection.close();
  expect(freshNetwork()).toMatch(/^[a-z][a-z0-9_]{0,30}$/);
});
