import { describe, expect, it, onTestFinished } from 'vitest';
import { openBroker } from '../../src/engine/log/broker.ts';
import { projections } from '../../src/projections/all.ts';
import { validators } from '../../src/projections/fleet/validators.ts';
import { migrate } from '../../src/engine/models/migrate.ts';
import { createPools } from '../../src/engine/models/pool.ts';
import { createReader } from '../../src/engine/models/read/reading.ts';
import { rebuild } from '../../src/engine/models/build/rebuild.ts';
import { freshDatabase, freshNetwork, testNats } from '../support/programs/servers.ts';

const at = '2026-11-21T10:00:00.000Z';

describe('two networks on the same servers', () => {
  it('keep their events and their read models apart', { tags: ['S2.settings.apart'] }, async () => {
    const pools = createPools(await freshDatabase(), { applicationName: 'apart' });
    onTestFinished(async () => await pools.end());
    const names = [freshNetwork(), freshNetwork()];
    const seen = await Promise.all(
      names.map(async (network, index) => {
        const broker = await openBroker(testNats(), { network, wanted: 'unknown' });
        onTestFinished(async () => await broker.close());
        await migrate({ pools, network });
        const record = { moniker: `of ${index}`, status: 'bonded', jailed: false };
        const facts = [{ type: 'ValidatorListed' as const, data: { validator: `v${index}`, seenAtHeight: 1, record } }];
        await broker.log.append([{ kind: 'validator', entity: `v${index}`, facts, expected: 0 }], { at });
        const signal = AbortSignal.timeout(20_000);
        for (const projection of projections) await rebuild({ pools, source: broker.log, projection, network, signal });
        return await createReader({ pools, network }).read(({ db, schemas }) =>
          db.withSchema(schemas[validators.name]).selectFrom('validators').select('moniker').execute(),
        );
      }),
    );
    expect(seen).toEqual([[{ moniker: 'of 0' }], [{ moniker: 'of 1' }]]);
  });
});

describe('openBroker', () => {
  it('refuses a log that is less durable than what is asked for, and says what to do', async () => {
    const opened = openBroker(testNats(), { network: freshNetwork(), wanted: 'strict' });
    await expect(opened).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('sync_interval'),
    });
  });

  it('tells the durability in force and the ends of the streams', async () => {
    const broker = await openBroker(testNats(), { network: freshNetwork(), wanted: 'unknown' });
    expect(await broker.state()).toEqual({ durability: 'relaxed', warnings: [] });
    expect(await broker.heads()).toMatchObject({ ACTIONS: { lastSequence: 0 }, LEDGER: { lastSequence: 0 } });
    await broker.close();
    await expect(broker.state()).rejects.toThrow();
  });
});
