import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { checkDatabase } from '../../../src/engine/archive/database.ts';
import { createPools } from '../../../src/engine/models/pool.ts';
import { freshDatabase } from '../../support/servers.ts';

test('checkDatabase says so where its user may not run the checks, and does not call the database sound', async () => {
  const config = await freshDatabase();
  const user = `plain_${config.database}`;
  await query(config, `create extension amcheck; create role "${user}" login; create table kept as select 7 as value`);
  onTestFinished(() => query(config, `drop role "${user}"`));
  const pools = createPools({ ...config, user }, { applicationName: 'test' });
  onTestFinished(() => pools.end());
  const { findings, unchecked } = await checkDatabase(pools, new AbortController().signal);
  expect(findings).toEqual([]);
  expect(unchecked).toMatch(/was not checked: permission denied for function/);
});

test('checkDatabase finds nothing in a sound database, and has checked all of it', async () => {
  const pools = createPools(await freshDatabase(), { applicationName: 'test' });
  onTestFinished(() => pools.end());
  expect(await checkDatabase(pools, new AbortController().signal)).toEqual({ findings: [] });
});

async function query(config: pg.ClientConfig, text: string): Promise<void> {
  const client = new pg.Client(config);
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
