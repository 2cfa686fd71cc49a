import { describe, expect, it } from 'vitest';
import { syncing, type Syncing } from '../../../support/chains/chain-stub-rounds.ts';
import { accountOf, operatorOf } from '../../../support/chains/chain-stub-state.ts';

const tooLarge = 'x'.repeat(9_000_000);

/** What the last round says that it left out. */
async function skippedIn({ news }: Syncing): Promise<readonly { record: string; reason: string }[] | undefined> {
  const last = (await news('SYNC')).at(-1);
  return last?.type === 'SyncRoundCompleted' ? last.data.skipped : undefined;
}

describe('pagesOf', () => {
  it(
    'leaves out the records of a list that are too large alone, and gives all others',
    { tags: ['LS-11'] },
    async () => {
      const own = await syncing();
      for (let i = 0; i < 450; i++) own.chain.addSuperNode(`n${i}`);
      for (const name of ['n7', 'n8', 'n449'])
        Object.assign(own.chain.supernodes.get(operatorOf(name)) ?? {}, { note: tooLarge });
      expect(await own.round('supernodes')).toMatchObject({ facts: 447 });
      expect(await skippedIn(own)).toEqual(
        ['n7', 'n8', 'n449'].map(() => ({ record: 'one of supernodes', reason: 'it is too large to be read' })),
      );
      expect(own.requests.length, 'and goes on in large pages behind them').toBeLessThan(40);
      own.chain.block();
      own.chain.supernodes.delete(operatorOf('n9'));
      expect(await own.round('supernodes'), 'no removal is believed meanwhile').toMatchObject({ facts: 0 });
      for (const name of ['n7', 'n8', 'n449']) own.chain.addSuperNode(name);
      expect(await own.round('supernodes')).toMatchObject({ facts: 4 });
    },
  );

  it('leaves out an action that is too large alone, and takes it once it is not', { tags: ['LS-11'] }, async () => {
    const own = await syncing();
    own.chain.register({}, {}, {});
    own.chain.finalize(accountOf('node'), { id: '1', amount: 5 });
    const { metadata } = own.chain.action('2');
    Object.assign(own.chain.action('2'), { metadata: tooLarge });
    expect(await own.round('actions')).toMatchObject({ facts: 3 });
    expect(await skippedIn(own)).toContainEqual({ record: 'an action', reason: 'it is too large to be read' });
    own.chain.block(100);
    Object.assign(own.chain.action('2'), { metadata });
    expect(await own.round('actions')).toMatchObject({ facts: 1 });
  });

  it('fails where too many records are too large, and asks no more', async () => {
    const own = await syncing();
    for (let i = 0; i < 12; i++) own.chain.addSuperNode(`n${i}`, { note: tooLarge });
    expect(await own.round('supernodes')).toMatchObject({ failure: 'bad_answer' });
    expect(own.requests.filter((path) => path.includes('list_super_nodes'))).toHaveLength(14);
  });
});
