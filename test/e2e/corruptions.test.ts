import { expect, test } from 'vitest';
import { type Harm, harm, type Store } from '../../tools/campaign/corruptions/harm.ts';
import { openVictim, untilArchived } from '../../tools/campaign/corruptions/victim.ts';
import { startChainStub } from '../support/chain-stub.ts';
import { GrowingChain } from '../support/growing-chain.ts';
import { dataFolder } from '../support/program.ts';
import { seeded } from '../support/random-history.ts';

const settings = { ACTIONS_SYNC_INTERVAL: '500ms', PROBE_INTERVAL: '1h', SCRUB_INTERVAL: '1s' };

const damages: readonly Readonly<{ store: Store; kind: Harm; part: string }>[] = [
  { store: 'nats', kind: 'flip', part: 'ACTIONS' },
  { store: 'db', kind: 'flip', part: 'base' },
  { store: 'nats', kind: 'delete', part: 'ACTIONS' },
];

test('annals up finds damaged files of the log and of the database by itself, and brings back all that was in them', async () => {
  const stub = await startChainStub();
  const growing = new GrowingChain(stub.chain, seeded(4));
  for (let block = 0; block < 30; block++) growing.grow();
  const victim = await openVictim({ ...settings, CHAIN_API_BASE: stub.url }, dataFolder());
  const random = seeded(1);
  for (const damage of damages) {
    const tables = await victim.tables();
    await untilArchived(victim);
    const from = victim.program().log.length;
    const harmed = await victim.restartServer(damage.store, 'stop', () =>
      harm(victim.program().folder, { ...damage, tables, isLive: true }, random),
    );
    expect(await victim.mended()).toEqual([]);
    expect(await victim.heard(from), harmed).toBeDefined();
  }
  await victim.close({ isKept: false });
  await stub.stop();
}, 180_000);
