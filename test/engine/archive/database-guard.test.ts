import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { guardDatabase } from '../../../src/engine/archive/database.ts';
import { createPools, type Pools, withClient } from '../../../src/engine/models/pool.ts';
import { examine } from '../../../src/engine/archive/thread.ts';
import { randomHistory } from '../../support/histories/random-history.ts';
import { appendFacts, everything, probeOf, thinOut } from '../log/fresh-log.ts';
import { keptLog, untilArchived } from './kept.ts';

const { signal } = new AbortController();
const brakes = { confirmAfterMs: 300, restoreEachMs: 3_600_000 };

/** Raises what PostgreSQL says of a table that was cut, each time at another place of it. */
const damaged = `create function meet_damage() returns int language plpgsql as $$
  begin raise exception 'unexpected data beyond EOF in block % of relation "base/1/2"', (extract(epoch from clock_timestamp()) * 1e6)::int8
    using errcode = 'XX000'; end $$`;

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

/** Facts of a stream; the broker's counts of `PROBES` stay right when it loses some, for it forgets. */
const factsOf = {
  ACTIONS: () => randomHistory(5, { actions: 5 }),
  PROBES: () => [1, 2, 3, 4, 5].map((tookMs) => probeOf('lumera1node', tookMs)),
} as const;

test.each(['ACTIONS', 'PROBES'] as const)(
  'a database is kept while the log lacks what its archive has of %s, and made anew once that is back',
  async (stream) => {
    const { kept, pools, replaced, said } = await guarded();
    await appendFacts(kept.log, factsOf[stream]());
    const { stop } = kept.start();
    await untilArchived(kept, stream);
    await stop();
    const before = await everything(kept.log, stream);
    await thinOut(kept.nc, kept.network, stream);
    const isKept = (): boolean =>
      said().some(({ msg, lacking }) => msg.includes('it is kept') && lacking?.[0] === stream);
    await expect.poll(async () => await meetDamage(pools).then(isKept), { timeout: 20_000 }).toBe(true);
    expect(replaced()).toBe(0);

    const first = await examine(kept, stream, { signal, brakes });
    const since = { finding: first.again?.since.finding ?? '', at: 0 };
    expect((await examine(kept, stream, { signal, brakes, before: since })).done).toHaveLength(1);
    await expect.poll(async () => await meetDamage(pools).then(replaced), { timeout: 20_000 }).toBe(1);
    expect(await everything(kept.log, stream)).toEqual(before);
  },
);

test('a database whose archive cannot be read is made anew where the log delivers all that it counts', async () => {
  const { kept, pools, replaced, said } = await guarded();
  await appendFacts(kept.log, randomHistory(5, { actions: 5 }));
  const { stop } = kept.start();
  await untilArchived(kept, 'ACTIONS');
  await stop();
  await withClient(pools.write, async (client) => {
    const { rows } = await client.query<{ schema: string }>(
      `select nspname as schema from pg_class join pg_namespace on relnamespace = pg_namespace.oid where relname = 'archive'`,
    );
    const schema = rows[0]?.schema ?? '';
    await client.query(`alter table ${schema}.archive rename to archived`);
    await client.query(`create view ${schema}.archive as select * from ${schema}.archived where meet_damage() = 0`);
  });
  await expect.poll(async () => await meetDamage(pools).then(replaced), { timeout: 20_000 }).toBe(1);
  expect(said().filter(({ msg }) => msg.includes('it is kept'))).toEqual([]);
});

/** A guard of a database in which damage can be met, beside a log. */
async function guarded() {
  const kept = await keptLog();
  const pools = createPools(kept.postgres, { applicationName: 'test' });
  await withClient(pools.write, async (client) => await client.query(damaged));
  const ending = new AbortController();
  let [replacements, looks] = [0, 0];
  const lines: string[] = [];
  pools.archive.on('acquire', () => (looks += 1));
  const guarding = guardDatabase({
    pools,
    network: kept.network,
    stores: kept,
    files: { folder: '', replace: async () => await Promise.resolve(void (replacements += 1)) },
    log: pino({ level: 'error' }, { write: (line) => void lines.push(line) }),
    scrubIntervalMs: 100,
    signal: ending.signal,
    limits: brakes,
  });
  onTestFinished(async () => {
    ending.abort();
    await guarding;
    await pools.end();
  });
  const said = () => lines.map((line) => JSON.parse(line) as Readonly<{ msg: string; lacking?: readonly string[] }>);
  return { kept, pools, replaced: () => replacements, looks: () => looks, said };
}

async function meetDamage(pools: Pools): Promise<void> {
  await expect(withClient(pools.read, async (client) => await client.query('select meet_damage()'))).rejects.toThrow();
}
