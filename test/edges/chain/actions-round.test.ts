import { describe, expect, it } from 'vitest';
import { accountOf } from '../../support/chain-stub-state.ts';
import { syncing } from '../../support/chain-stub-rounds.ts';

const node = accountOf('node');

describe('readActions', () => {
  it('writes every fact of each life in the first round, and nothing but a round in an unchanged one', async () => {
    const { chain, round, news, requests } = await syncing();
    const [first = '', second = ''] = chain.register({ dataHash: 'one' }, { kind: 'SENSE', dataHash: 'two' });
    chain.block();
    const hash = chain.finalize(node, { id: first, amount: 9_859 }, { id: second, amount: 5_000 });
    chain.block(3);
    expect(await round('actions')).toMatchObject({ facts: 4 });
    const facts = await news('ACTIONS');
    expect(facts.map(({ type }) => type).toSorted()).toEqual([
      'ActionFinalized',
      'ActionFinalized',
      'ActionRegistered',
      'ActionRegistered',
    ]);
    expect(facts.find(({ type, data }) => type === 'ActionFinalized' && data['action'] === second)?.data).toMatchObject(
      {
        accounts: [node],
        payments: [
          { account: accountOf('pool'), denom: 'ulume', amount: '100' },
          { account: node, denom: 'ulume', amount: '5000' },
          { account: node, denom: 'uother', amount: '7' },
        ],
        transaction: { hash, height: 2 },
        known: { chainState: 'done', reached: 'finalized', dataHash: 'two' },
      },
    );
    requests.length = 0;
    const again = await round('actions');
    expect(again).toMatchObject({ facts: 0 });
    expect(requests.length).toBeLessThanOrEqual(10);
    expect(again.requests).toBe(requests.length);
    expect(await news('ACTIONS')).toEqual([]);
    expect((await news('SYNC')).map(({ type }) => type)).toEqual([
      'ChainIdentified',
      'SyncRoundCompleted',
      'SyncRoundCompleted',
    ]);
  });
});
