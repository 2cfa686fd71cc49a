import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { guardDatabase } from '../../../src/engine/archive/database.ts';
import { createPools, type Pools, withClient } from '../../../src/engine/models/pool.ts';
import { freshDatabase } from '../../support/programs/servers.ts';

/** Raises what PostgreSQL says of a page that it cannot read. */
const damaged = `create function meet_damage() returns int language plpgsql as $$
  begin raise exception 'could not read blocks 0..0 in file "base/1/2"' using errcode = 'XX001'; end $$`;

test('what statements keep meeting is a finding, although the checks of the database find nothing', async () => {
  const { pools, replaced } = await guarded();
  await expect.poll(async () => await meetDamage(pools).then(replaced), { timeout: 20_000 }).toBe(1);
});

test('what statements have met and do not meet again changes nothing', async () => {
  const { pools, replaced, looks } = await guarded();
  for (let time = 0; time < 3; time += 1) await meetDamage(pools);
  await expect.poll(looks, { timeout: 20_000 }).toBeGreaterThanOrEqual(3);
  expect(replaced()).toBe(0);
});

/** A guard of a database in which damage can be met. */
async function guarded() {
  const pools = createPools(await freshDatabase(), { applicationName: 'test' });
  await withClient(pools.write, async (client) => await client.query(damaged));
  const ending = new AbortController();
  let [replacements, looks] = [0, 0];
  pools.archive.on('acquire', () => (looks += 1));
  const guarding = guardDatabase({
    pools,
    network: 'guarded',
    files: { folder: '', replace: async () => await Promise.resolve(void (replacements += 1)) },
    log: pino({ level: 'silent' }),
    scrubIntervalMs: 100,
    signal: ending.signal,
    limits: { confirmAfterMs: 300, restoreEachMs: 3_600_000 },
  });
  onTestFinished(async () => {
    ending.abort();
    await guarding;
    await pools.end();
  });
  return { pools, replaced: () => replacements, looks: () => looks };
}

async function meetDamage(pools: Pools): Promise<void> {
  await expect(withClient(pools.read, async (client) => await client.query('select meet_damage()'))).rejects.toThrow();
}
