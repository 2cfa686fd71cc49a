import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { checkDatabase } from '../../../src/engine/archive/database.ts';
import { createPools } from '../../../src/engine/models/pool.ts';
import { flipBit } from '../../support/kills/flip-bit.ts';
import { freshDatabase } from '../../support/programs/servers.ts';

test('checkDatabase says so where its user may not run the checks, and does not call the database sound', async () => {
  const config = await freshDatabase();
  const user = `plain_${config.database}`;
  await query(config, `create extension amcheck; create role "${user}" login; create table kept as select 7 as value`);
  onTestFinished(async () => void (await query(config, `drop role "${user}"`)));
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

test('checkDatabase finds damage where nothing was read yet: in the index of values that no row is long enough for', async () => {
  const config = await freshDatabase();
  const [made] = await query<{ file: string }>(
    config,
    `create schema annals_test; create table annals_test.kept (value text); checkpoint;
     select current_setting('data_directory') || '/' || pg_relation_filepath(indexrelid) as file from pg_index
       where indrelid = (select reltoastrelid from pg_class where oid = 'annals_test.kept'::regclass)`,
  );
  flipBit(made?.file ?? '', 5020, 1);
  const pools = createPools(config, { applicationName: 'test' });
  onTestFinished(() => pools.end());
  const { findings } = await checkDatabase(pools, new AbortController().signal);
  expect(findings).toEqual([expect.stringMatching(/^pg_toast\..*invalid page/)]);
});

async function query<Row extends pg.QueryResultRow>(config: pg.ClientConfig, text: string): Promise<Row[]> {
  const client = new pg.Client(config);
  await client.connect();
  try {
    const all = await client.query<Row>(text);
    return [all].flat().at(-1)?.rows ?? [];
  } finally {
    await client.end();
  }
}
