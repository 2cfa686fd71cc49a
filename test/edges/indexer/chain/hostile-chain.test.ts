import { describe, expect, it } from 'vitest';
import { syncing } from '../../../support/chains/chain-stub-rounds.ts';
import { accountOf } from '../../../support/chains/chain-stub-state.ts';

const node = accountOf('node');

describe('readActions on a chain that is not as it should be', () => {
  it('leaves out a record that cannot be read, tries it again each round, and takes it once it is mended', async () => {
    const { chain, round, news, faults } = await syncing();
    chain.register({}, {}, {});
    chain.block();
    chain.finalize(node, { id: '2', amount: 77 });
    chain.block();
    const good = structuredClone(chain.action('2'));
    Object.assign(chain.action('2'), { price: 'a fortune', creator: 7 });
    expect(await round('actions')).toMatchObject({ facts: 2 });
    expect((await news('SYNC')).at(-1)?.data).toMatchObject({
      skipped: [{ record: '2', reason: 'creator is no address of lumera' }],
      known: { unread: ['2'], lastAction: '3' },
    });
    faults.instead = (url) =>
      url.pathname.endsWith('get_action/2') ? { status: 500, body: { code: 13, message: 'panic' } } : undefined;
    chain.block(100);
    expect(await round('actions')).toMatchObject({ facts: 0, height: 103 });
    faults.instead = () => undefined;
    Object.assign(chain.action('2'), good);
    expect(await round('actions')).toMatchObject({ facts: 2 });
    expect((await news('ACTIONS')).slice(2)).toMatchObject([
      { type: 'ActionRegistered', data: { action: '2', transaction: { height: 1 } } },
      {
        type: 'ActionFinalized',
        data: { action: '2', transaction: { height: 2 }, payments: [{ amount: '1' }, { amount: '77' }, {}] },
      },
    ]);
    expect((await news('SYNC')).at(-1)?.data).toMatchObject({ skipped: [], known: { unread: [] } });
  });

  it('takes ids of any size, prices as objects, enums as numbers, and no U+0000', { tags: ['LS-10'] }, async () => {
    const { chain, round, news } = await syncing();
    chain.register({ dataHash: 'with \0 inside' });
    const huge = '184467440737095516160';
    const record = {
      ...chain.action('1'),
      actionID: huge,
      price: { denom: 'ulume', amount: huge },
      state: 4,
      actionType: 2,
      expirationTime: '9223372036854775807',
    };
    chain.at(chain.height).actions.set(huge, record);
    expect(await round('actions')).toMatchObject({ facts: 4 });
    expect(await news('ACTIONS')).toMatchObject([
      { type: 'ActionRegistered', data: { known: { dataHash: 'with \uFFFD inside' } } },
      { type: 'ActionRegistered', data: { action: huge, kind: 'cascade', price: { amount: huge } } },
      { type: 'ActionFinalized' },
      { type: 'ActionApproved', data: { action: huge, known: { chainState: 'approved' } } },
    ]);
  });

  it('records what a pruned node has left, and finds the transactions once a node shows them', async () => {
    const { chain, round, news, faults } = await syncing();
    chain.register({}, {});
    chain.block();
    const finalize = chain.finalize(node, { id: '1', amount: 50 });
    chain.block(20);
    chain.register({});
    faults.lowestHeight = 10;
    expect(await round('actions')).toMatchObject({ facts: 4 });
    const facts = await news('ACTIONS');
    expect(facts.filter(({ data }) => 'transaction' in data)).toMatchObject([{ data: { action: '3' } }]);
    expect(facts.find(({ type }) => type === 'ActionFinalized')).toMatchObject({
      data: { payments: [], accounts: [node] },
    });
    expect((await news('SYNC')).at(-1)?.data).toMatchObject({ known: { lowestHeight: 10 } });
    expect(await round('actions')).toMatchObject({ facts: 0 });
    faults.lowestHeight = 1;
    expect(await round('actions')).toMatchObject({ facts: 3 });
    expect((await news('ACTIONS')).find(({ data }) => 'step' in data && data.step === 'finalize')).toMatchObject({
      type: 'ActionTransactionFound',
      data: {
        action: '1',
        transaction: { hash: finalize, height: 2 },
        payments: [{ amount: '1' }, { amount: '50' }, {}],
      },
    });
    expect((await news('SYNC')).at(-1)?.data).not.toHaveProperty('known.lowestHeight');
    expect(await round('actions')).toMatchObject({ facts: 0 });
  });

  it('reads the list where blocks were pruned that it never searched', async () => {
    const { chain, round, news, faults } = await syncing();
    chain.register({}, {});
    await round('actions');
    chain.block();
    chain.finalize(node, { id: '1', amount: 50 });
    chain.block(300);
    faults.lowestHeight = 290;
    expect(await round('actions')).toMatchObject({ facts: 1 });
    expect((await news('ACTIONS')).at(-1)).toMatchObject({
      type: 'ActionFinalized',
      data: { action: '1', payments: [] },
    });
    faults.lowestHeight = 1;
    expect(await round('actions')).toMatchObject({ facts: 1 });
    expect((await news('ACTIONS')).at(-1)).toMatchObject({ type: 'ActionTransactionFound', data: { action: '1' } });
  });

  it(
    'follows neither another chain nor one that is behind',
    { tags: ['S2.open.ops.wrong-chain', 'LS-09'] },
    async () => {
      const { chain, round, news, faults } = await syncing();
      chain.register({});
      chain.block(5);
      await round('actions');
      await news('SYNC');
      chain.chainId = 'another-1';
      chain.register({});
      expect(await round('actions')).toMatchObject({ failure: 'wrong_chain' });
      expect(await round('supernodes')).toMatchObject({ failure: 'wrong_chain' });
      chain.chainId = 'stub-1';
      faults.instead = (url) =>
        url.pathname.endsWith('blocks/latest')
          ? { status: 200, body: { block: { header: { chain_id: 'stub-1', height: '3', time: chain.timeOf(3) } } } }
          : undefined;
      expect(await round('actions')).toMatchObject({ failure: 'chain_behind' });
      expect(await news('ACTIONS')).toHaveLength(1);
      faults.instead = () => undefined;
      expect(await round('actions')).toMatchObject({ facts: 1 });
      const rounds = await news('SYNC');
      expect(rounds.map((fact) => (fact.type === 'SyncRoundFailed' ? fact.data.reason : fact.type))).toEqual([
        'wrong_chain',
        'wrong_chain',
        'chain_behind',
        'SyncRoundCompleted',
      ]);
      expect(rounds[2]?.data).toMatchObject({ known: { cursor: 6, lastAction: '1' } });
    },
  );

  it('looks again where the node that answered the search was behind the head', async () => {
    const { chain, round, news, faults } = await syncing();
    chain.register({});
    await round('actions');
    chain.block(50);
    faults.instead = (url, good) => {
      if (!url.pathname.endsWith('/txs')) return good();
      return { ...good(), height: 2, body: { tx_responses: [], total: '0' } };
    };
    chain.finalize(node, { id: '1', amount: 5 });
    chain.block(50);
    expect(await round('actions')).toMatchObject({ facts: 0 });
    faults.instead = () => undefined;
    expect(await round('actions')).toMatchObject({ facts: 1 });
    expect((await news('ACTIONS')).at(-1)).toMatchObject({
      type: 'ActionFinalized',
      data: { transaction: { height: 51 } },
    });
  });

  it('reads the whole list again while more records are unreadable than it remembers', async () => {
    const { chain, round, news } = await syncing();
    chain.register(...Array.from({ length: 130 }, () => ({})));
    chain.block();
    for (let id = 1; id <= 130; id++) chain.action(String(id))['fileSizeKbs'] = 'big';
    chain.register({});
    expect(await round('actions')).toMatchObject({ facts: 1 });
    chain.block(100);
    expect(await round('actions')).toMatchObject({ facts: 0 });
    for (let id = 1; id <= 130; id++) chain.action(String(id))['fileSizeKbs'] = '6';
    expect(await round('actions')).toMatchObject({ facts: 130 });
    const facts = await news('ACTIONS');
    expect(facts.every((fact) => fact.type === 'ActionRegistered' && fact.data.transaction !== undefined)).toBe(true);
    expect((await news('SYNC')).at(-1)?.data).toMatchObject({ known: { unread: [], lastAction: '131' } });
  });

  it('fails, and moves no cursor, where the chain fails on every action', async () => {
    const { chain, round, faults } = await syncing();
    chain.register({});
    await round('actions');
    chain.block();
    chain.register({});
    faults.instead = (url) => (url.pathname.includes('get_action') ? { status: 501, body: {} } : undefined);
    expect(await round('actions')).toMatchObject({ failure: 'bad_answer' });
    faults.instead = () => undefined;
    chain.block(500);
    expect(await round('actions')).toMatchObject({ facts: 1 });
  });

  it.each([
    ['a search that goes round in circles', { tx_responses: [{}], total: '100000' }],
    ['a search without a list', { tx_responses: 'none', total: '0' }],
  ])('fails on %s', { tags: ['LS-25'] }, async (_what, body) => {
    const { chain, round, faults } = await syncing();
    chain.register({});
    faults.instead = (url) => (url.pathname.endsWith('/txs') ? { status: 200, body } : undefined);
    expect(await round('actions')).toMatchObject({ failure: 'bad_answer' });
  });

  it.each([
    ['metadata of a megabyte', 'metadata', btoa('x'.repeat(800_000))],
    ['ten thousand SuperNodes', 'superNodes', Array.from({ length: 10_000 }, () => node)],
    ['a price that is a list', 'price', [1]],
    ['an id of its own making', 'actionID', '2; DROP TABLE'],
  ])('leaves out a record with %s, and takes the good ones', { tags: ['LS-11'] }, async (_what, field, value) => {
    const { chain, round, news } = await syncing();
    chain.register({}, {}, {});
    Object.assign(chain.action('2'), { [field]: value });
    expect(await round('actions')).toMatchObject({ facts: 2 });
    chain.block();
    chain.finalize(node, { id: '1', amount: 5 });
    expect(await round('actions')).toMatchObject({ facts: 1 });
    expect((await news('ACTIONS')).map(({ data }) => 'action' in data && data.action)).toEqual(['1', '3', '1']);
  });

  it(
    'leaves out a transaction that is too large to be read, and takes those around it',
    { tags: ['LS-11'] },
    async () => {
      const { chain, round, news } = await syncing();
      chain.register({});
      chain.block();
      chain.register({});
      chain.block();
      chain.register({});
      Object.assign(chain.transactions[1]?.tx ?? {}, { memo: 'x'.repeat(9_000_000) });
      expect(await round('actions')).toMatchObject({ facts: 3 });
      const facts = await news('ACTIONS');
      expect(facts.map(({ data }) => 'transaction' in data)).toEqual([true, false, true]);
      chain.block();
      chain.register({});
      expect(await round('actions')).toMatchObject({ facts: 1 });
    },
  );

  it('reads a transaction of a hundred thousand events, each of another message', async () => {
    const { chain, round, news } = await syncing();
    chain.register({});
    chain.block();
    chain.finalize(node, { id: '1', amount: 50 });
    const events = chain.transactions[1]?.events ?? [];
    const none = { type: 'action_finalized', attributes: [{ key: 'msg_index', value: '', index: true }] };
    for (let i = 1; i < 80_000; i++) {
      events.push({ ...none, attributes: [{ key: 'msg_index', value: String(i), index: true }] });
    }
    expect(await round('actions')).toMatchObject({ facts: 2 });
    expect((await news('ACTIONS'))[1]).toMatchObject({ data: { payments: [{ amount: '1' }, { amount: '50' }, {}] } });
  });

  it(
    'records the payments of every finalize transaction of an action, up to a bound, and says what it left out',
    { tags: ['LS-12'] },
    async () => {
      const { chain, round, news } = await syncing();
      chain.register({});
      for (let i = 0; i < 130; i++) {
        chain.block();
        chain.finalize(accountOf(`node ${i}`), { id: '1', amount: 50 + i });
      }
      await round('actions');
      const facts = await news('ACTIONS');
      const paid = facts.flatMap(({ data }) => ('payments' in data ? data.payments.map(({ account }) => account) : []));
      expect(paid).toEqual(expect.arrayContaining([accountOf('node 0'), accountOf('node 1'), accountOf('node 90')]));
      expect(facts).toHaveLength(100);
      const left = (count: number) => [
        { record: '1', reason: expect.stringContaining(`${count} of its transactions`) },
      ];
      expect((await news('SYNC')).at(-1)?.data).toMatchObject({ skipped: left(31) });
      expect(await round('actions')).toMatchObject({ facts: 0 });
      expect((await news('SYNC')).at(-1)?.data, 'of the last block, which is gone over again').toMatchObject({
        skipped: left(1),
      });
    },
  );

  it('believes no lowest height above the head', async () => {
    const { chain, round, faults } = await syncing();
    chain.register({});
    faults.instead = (url) =>
      url.pathname.endsWith('/txs')
        ? { status: 500, body: { message: 'height 1 is not available, lowest height is 4000000000' } }
        : undefined;
    expect(await round('actions')).toMatchObject({ failure: 'pruned' });
    faults.instead = () => undefined;
    expect(await round('actions')).toMatchObject({ facts: 1 });
  });
});
