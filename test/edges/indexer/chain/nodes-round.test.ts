import { describe, expect, it } from 'vitest';
import { syncing } from '../../../support/chains/chain-stub-rounds.ts';
import { accountOf, operatorOf } from '../../../support/chains/chain-stub-state.ts';

describe('readSuperNodes', () => {
  it('records who is listed, changed and removed, and nothing in an unchanged round', { tags: ['LS-09'] }, async () => {
    const { chain, round, news, requests } = await syncing();
    const gone = chain.addSuperNode('gone');
    const node = chain.addSuperNode('stays');
    chain.block();
    expect(await round('supernodes')).toMatchObject({ facts: 2 });
    requests.length = 0;
    chain.block();
    expect(await round('supernodes')).toMatchObject({ facts: 0 });
    expect(requests.length).toBeLessThanOrEqual(10);
    chain.block();
    chain.supernodes.delete(gone);
    Object.assign(chain.supernodes.get(node) ?? {}, {
      supernode_account: accountOf('second'),
      prev_supernode_accounts: [
        { account: accountOf('second'), height: '4' },
        { account: accountOf('stays'), height: '1' },
      ],
    });
    expect(await round('supernodes')).toMatchObject({ facts: 2 });
    expect((await news('NODES')).slice(2)).toMatchObject([
      {
        type: 'SuperNodeChanged',
        data: {
          node,
          record: {
            account: accountOf('second'),
            accounts: [
              { account: accountOf('stays'), height: 1 },
              { account: accountOf('second'), height: 4 },
            ],
          },
        },
      },
      { type: 'SuperNodeRemoved', data: { node: gone, seenAtHeight: 4 } },
    ]);
    expect((await news('SYNC')).at(-1)?.data).toMatchObject({ known: { minimumVersion: '2.0.0', cursor: 4 } });
  });

  it(
    'takes of each history the entry of the greatest height, the later one of equal ones',
    { tags: ['LS-08'] },
    async () => {
      const { chain, round, news } = await syncing();
      chain.addSuperNode('n', {
        states: [
          { state: 'SUPERNODE_STATE_STOPPED', height: '9', reason: 'first' },
          { state: 'SUPERNODE_STATE_ACTIVE', height: '2', reason: '' },
          { state: 5, height: '9', reason: 'sec\0ond' },
        ],
        prev_ip_addresses: [
          { address: 'new', height: '8' },
          { address: 'old', height: '3' },
        ],
        metrics: ['whatever comes'],
      });
      await round('supernodes');
      expect(await news('NODES')).toMatchObject([
        {
          data: {
            record: {
              state: 'postponed',
              stateHeight: 9,
              stateReason: 'sec\uFFFDond',
              address: 'new',
              registeredHeight: 2,
            },
          },
        },
      ]);
    },
  );

  it('reads all pages, and believes no removal of a list that is not whole', { tags: ['LS-25'] }, async () => {
    const { chain, round, news, faults } = await syncing();
    for (let i = 0; i < 450; i++) chain.addSuperNode(`n${i}`);
    expect(await round('supernodes')).toMatchObject({ facts: 450 });
    await news('NODES');
    chain.block();
    chain.supernodes.delete(operatorOf('n7'));
    Object.assign(chain.supernodes.get(operatorOf('n3')) ?? {}, { note: 'changed' });
    const broken = [
      (body: object) => ({ ...body, pagination: { next_key: btoa('200') } }),
      (body: object) => ({ ...body, supernodes: 'none' }),
    ];
    for (const breakList of broken) {
      faults.instead = (url, good) => {
        const answer = good();
        const isSecond = url.searchParams.get('pagination.key') === btoa('200');
        return isSecond && typeof answer.body === 'object' && answer.body
          ? { ...answer, body: breakList(answer.body) }
          : answer;
      };
      expect(await round('supernodes')).toMatchObject({ failure: 'bad_answer' });
    }
    expect(await news('NODES'), 'what was read counts').toMatchObject([{ type: 'SuperNodeChanged' }]);
    faults.instead = () => undefined;
    expect(await round('supernodes')).toMatchObject({ facts: 1 });
    expect(await news('NODES')).toMatchObject([{ type: 'SuperNodeRemoved', data: { node: operatorOf('n7') } }]);
  });

  it(
    'leaves a node as it was while its record cannot be read, and believes no removal while one names nobody',
    { tags: ['LS-11'] },
    async () => {
      const { chain, round, news } = await syncing();
      const [bad, other] = [chain.addSuperNode('bad'), chain.addSuperNode('other')];
      await round('supernodes');
      await news('NODES');
      Object.assign(chain.supernodes.get(bad) ?? {}, { states: [{ state: 'SUPERNODE_STATE_DANCING', height: '1' }] });
      expect(await round('supernodes')).toMatchObject({ facts: 0 });
      expect((await news('SYNC')).at(-1)?.data).toMatchObject({ skipped: [{ record: bad }] });
      chain.supernodes.delete(other);
      Object.assign(chain.supernodes.get(bad) ?? {}, { validator_address: 'nobody' });
      expect(await round('supernodes')).toMatchObject({ facts: 0 });
      chain.supernodes.delete(bad);
      expect(await round('supernodes')).toMatchObject({ facts: 2 });
    },
  );
});

describe('readValidators', () => {
  it('records moniker, status and jailed, and nothing else of a validator', async () => {
    const { chain, round, news } = await syncing();
    const validator = chain.addValidator('v');
    expect(await round('validators')).toMatchObject({ facts: 1 });
    Object.assign(chain.validators.get(validator) ?? {}, { tokens: '999' });
    expect(await round('validators')).toMatchObject({ facts: 0 });
    Object.assign(chain.validators.get(validator) ?? {}, { jailed: true, status: 'BOND_STATUS_UNBONDING' });
    await round('validators');
    chain.validators.clear();
    await round('validators');
    expect(await news('NODES')).toMatchObject([
      { type: 'ValidatorListed', data: { record: { moniker: 'v', status: 'bonded', jailed: false } } },
      { type: 'ValidatorChanged', data: { record: { status: 'unbonding', jailed: true } } },
      { type: 'ValidatorRemoved', data: { validator } },
    ]);
  });
});
