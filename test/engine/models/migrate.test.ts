import { expect, onTestFinished, test } from 'vitest';
import { migrate } from '../../../src/engine/models/migrate.ts';
import { createPools } from '../../../src/engine/models/pool.ts';
import { freshDatabase, freshNetwork } from '../../support/programs/servers.ts';
import { openDatabase } from './engine.ts';

test(
  'migrate succeeds for eight replicas that start at once, and every step is done once',
  { tags: ['S2.service.replicas'] },
  async () => {
    const config = await freshDatabase();
    const network = freshNetwork();
    const replicas = Array.from({ length: 8 }, () => createPools(config, { applicationName: 'replica' }));
    onTestFinished(async () => void (await Promise.all(replicas.map((pools) => pools.end()))));

    await Promise.all(replicas.map((pools) => migrate({ pools, network })));
    const done = await replicas[0]?.read.query(`select number from annals_${network}.migrations`);
    expect(done?.rows).toEqual(done?.rows.map((_, index) => ({ number: index + 1 })));
  },
);

test('migrate refuses a database that a newer version brought further', async () => {
  const { pools, network } = await openDatabase();
  await pools.bulk.query(`insert into annals_${network}.migrations (number) values (99)`);
  await expect(migrate({ pools, network })).rejects.toMatchObject({ code: 'CONFLICT' });
});

test('migrate allows one live generation of a projection', async () => {
  const { pools, network } = await openDatabase();
  const insert = (generation: number) =>
    pools.bulk.query(
      `insert into annals_${network}.generations (projection, generation, version, fingerprint, schema_name, status, stream, incarnation)
        values ('actions', $1, 1, '', '', 'live', 'ACTIONS', '')`,
      [generation],
    );
  await insert(1);
  await expect(insert(2)).rejects.toMatchObject({ code: '23505' });
});
