import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { castOf, type RealNode } from '../../../src/edges/local-network/cast.ts';
import { registerNodes } from '../../../src/edges/local-network/local-network.ts';
import { freshFolder } from '../../support/programs/fresh-folder.ts';
import { freshLog, seed, startLedger } from '../ledger/ledger-under-test.ts';
import { type KilledNode, killDuringRegister, lastEvent } from './killed-register.ts';

const undo = new AsyncDisposableStack();
let killed: KilledNode;
beforeAll(async () => {
  const { folder, remove } = freshFolder();
  undo.defer(remove);
  const fresh = undo.use(await freshLog());
  const ledger = undo.use(await startLedger(fresh.log));
  const [node] = castOf(seed).realNodes as unknown as readonly [RealNode];
  await registerNodes(ledger, [node]);
  killed = { ledger, node, folder };
});
afterAll(() => undo.disposeAsync());

describe('a node that is killed in the midst of Register', () => {
  it.each(['first', 'second', 'third', 'fourth'])(
    'serves no half file, and keeps none: %s point',
    { tags: ['S1.storage.kill'] },
    async (point) => {
      expect(await killDuringRegister(killed, point)).toMatch(/^at (chunk|event) \d+/);
    },
  );

  it('keeps the file of an action that it has finalized', { tags: ['S1.storage.kill'] }, async () => {
    expect(await killDuringRegister(killed, 'finalized', lastEvent)).toBe(`at event ${lastEvent}, done`);
  });

  it('keeps what the chain says of one whose finalization was under way', { tags: ['S1.storage.kill'] }, async () => {
    const point = await killDuringRegister(killed, 'finalizing', lastEvent - 1);
    expect([`at event ${lastEvent - 1}, done`, `at event ${lastEvent - 1}, pending`]).toContain(point);
  });
});
