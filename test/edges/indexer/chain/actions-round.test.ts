import { describe, expect, it } from 'vitest';
import { unpackOpen } from '../../../../src/commands/sync/open-actions.ts';
import type { Fact } from '../../../../src/events/catalogue.ts';
import { syncing } from '../../../support/chains/chain-stub-rounds.ts';
import { accountOf } from '../../../support/chains/chain-stub-state.ts';

const node = accountOf('node');
const typesOf = (facts: readonly Fact[]): string[] => facts.map(({ type }) => type);

/** The actions that the last round hands on as open. */
function openIn(rounds: readonly Fact[]): string[] {
  const last = rounds.at(-1);
  const open = last?.type === 'SyncRoundCompleted' ? last.data.known.openActions : undefined;
  return open ? [...unpackOpen(open).keys()] : [];
}

describe('readActions', () => {
  it('writes every fact of each life in the first round, and nothing but a round in an unchanged one', async () => {
    const { chain, round, news, requests } = await syncing();
    const [first = '', second = ''] = chain.register({ dataHash: 'one' }, { kind: 'SENSE', dataHash: 'two' });
    chain.block();
    const hash = chain.finalize(node, { id: first, amount: 9_859 }, { id: second, amount: 5_000 });
    chain.block(3);
    expect(await round('actions')).toMatchObject({ facts: 4 });
    const facts = await news('ACTIONS');
    expect(typesOf(facts).toSorted()).toEqual([
      'ActionFinalized',
      'ActionFinalized',
      'ActionRegistered',
      'ActionRegistered',
    ]);
    expect(
      facts.find((fact) => fact.type === 'ActionFinalized' && fact.data.action === second)?.data,
      'each action has its own payments, though both lie in one transaction',
    ).toMatchObject({
      accounts: [node],
      payments: [
        { account: accountOf('pool'), denom: 'ulume', amount: '100' },
        { account: node, denom: 'ulume', amount: '5000' },
        { account: node, denom: 'uother', amount: '7' },
      ],
      transaction: { hash, height: 2, time: '2026-11-21T00:00:10Z' },
      known: { chainState: 'done', reached: 'finalized', dataHash: 'two' },
    });
    for (const blocks of [0, 30, 1_000]) {
      chain.block(blocks);
      requests.length = 0;
      const again = await round('actions');
      expect(again).toMatchObject({ facts: 0, height: chain.height, requests: requests.length });
      expect(requests.length).toBeLessThanOrEqual(10);
    }
    expect(await news('ACTIONS')).toEqual([]);
    expect(typesOf(await news('SYNC'))).toEqual(['ChainIdentified', ...Array(4).fill('SyncRoundCompleted')]);
  });

  it(
    'finds a finalize and an approval long after the registration, from the log alone',
    { tags: ['LS-01'] },
    async () => {
      const { chain, round, news } = await syncing();
      const [id = ''] = chain.register({});
      await round('actions');
      chain.block(500);
      const finalize = chain.finalize(node, { id, amount: 100 });
      chain.block(2);
      await round('actions');
      chain.block(500);
      const approve = chain.approve(id);
      await round('actions');
      expect(await news('ACTIONS')).toMatchObject([
        { type: 'ActionRegistered' },
        { type: 'ActionFinalized', data: { transaction: { hash: finalize, height: 501 } } },
        { type: 'ActionApproved', data: { transaction: { hash: approve, height: 1003 } } },
      ]);
    },
  );

  it('sees an expiry, of which no transaction tells, once the block time has come', async () => {
    const { chain, round, news, requests } = await syncing();
    chain.register({ seconds: 60 }, { seconds: 3_600 });
    await round('actions');
    chain.block(11);
    requests.length = 0;
    expect(await round('actions')).toMatchObject({ facts: 0 });
    expect(requests.filter((path) => /get_action\/[12]$/.test(path))).toEqual([]);
    chain.block(2);
    expect(await round('actions')).toMatchObject({ facts: 1 });
    expect((await news('ACTIONS')).at(-1)).toMatchObject({
      type: 'ActionExpired',
      data: { action: '1', seenAtHeight: 14, known: { chainState: 'expired', reached: 'registered' } },
    });
    const rounds = await news('SYNC');
    expect(rounds.at(-1)?.data).toMatchObject({ known: { lastAction: '2', cursor: 14 } });
    expect(openIn(rounds)).toEqual(['2']);
  });

  it('reads the whole list again once the time has come from which on open actions were left out', async () => {
    const { chain, log, round, news, requests } = await syncing();
    chain.register({ seconds: 600 }, { seconds: 3_600 });
    await round('actions');
    chain.block(20);
    await round('actions');
    const last = (await news('SYNC')).at(-1);
    if (last?.type !== 'SyncRoundCompleted') throw new Error('no round was completed');
    const known = { ...last.data.known, openActions: { entries: '', completeUntil: '2026-11-21T00:10:00Z' } };
    const kept = { ...last, data: { ...last.data, known } };
    const expected = (await log.last('sync', ['actions'])).get('actions')?.sequence ?? 0;
    await log.append([{ kind: 'sync', entity: 'actions', facts: [kept], expected }], { at: '2026-11-21T00:00:00Z' });
    const lists = (): number => requests.splice(0).filter((path) => path.includes('list_actions')).length;
    lists();
    chain.block();
    await round('actions');
    expect([lists(), openIn(await news('SYNC'))], 'before its time').toEqual([0, []]);
    chain.block(120);
    expect(await round('actions')).toMatchObject({ facts: 1 });
    expect([lists(), openIn(await news('SYNC'))]).toEqual([1, ['2']]);
    expect((await news('ACTIONS')).at(-1)).toMatchObject({ type: 'ActionExpired', data: { action: '1' } });
    await round('actions');
    expect([lists(), openIn(await news('SYNC'))], 'afterwards').toEqual([0, ['2']]);
  });

  it(
    'keeps the data hash of a Sense action that the chain empties, whether it was known before or not',
    { tags: ['LS-05'] },
    async () => {
      const { chain, round, news } = await syncing();
      const [known = ''] = chain.register({ kind: 'SENSE', dataHash: 'before' });
      await round('actions');
      chain.block();
      const [unknown = ''] = chain.register({ kind: 'SENSE', dataHash: 'never seen' });
      chain.block();
      chain.finalize(node, { id: known, amount: 1 }, { id: unknown, amount: 1 });
      await round('actions');
      const facts = await news('ACTIONS');
      expect(
        facts.map(({ type, data }) => [type, 'known' in data && 'dataHash' in data.known && data.known.dataHash]),
      ).toEqual([
        ['ActionRegistered', 'before'],
        ['ActionFinalized', 'before'],
        ['ActionRegistered', 'never seen'],
        ['ActionFinalized', 'never seen'],
      ]);
      expect(facts[2]?.data, 'read at the height of registration').not.toMatchObject({ metadata: '' });
    },
  );

  it('takes an emptied data hash from the register message where that state is pruned', async () => {
    const { chain, faults, round, news } = await syncing();
    const [id = ''] = chain.register({ kind: 'SENSE', dataHash: 'in the message' });
    chain.block();
    chain.finalize(node, { id, amount: 1 });
    faults.instead = (url, good) => {
      const answer = good();
      return url.pathname.endsWith(`get_action/${id}`) && answer.height === 1
        ? { status: 500, body: { code: 2, message: 'version does not exist. Version has either been pruned' } }
        : answer;
    };
    await round('actions');
    expect(await news('ACTIONS')).toMatchObject([
      { type: 'ActionRegistered', data: { metadata: '', known: { dataHash: 'in the message' } } },
      { type: 'ActionFinalized' },
    ]);
  });

  it('takes a rejected finalization of code 0 for none', async () => {
    const { chain, round, news } = await syncing();
    const [id = ''] = chain.register({});
    await round('actions');
    chain.block();
    chain.rejectFinalization(node, id);
    expect(await round('actions')).toMatchObject({ facts: 0 });
    expect(typesOf(await news('ACTIONS'))).toEqual(['ActionRegistered']);
  });

  it('finds every action once while new ones arrive between its pages', async () => {
    const { chain, faults, round, news, requests } = await syncing();
    for (let i = 0; i < 230; i++) {
      chain.register({});
      if (i % 20 === 0) chain.block();
    }
    faults.instead = (url, good) => {
      const isLaterPage = Number(url.searchParams.get('page')) > 1 || url.searchParams.has('pagination.key');
      if (isLaterPage) {
        chain.block();
        chain.register({});
      }
      return good();
    };
    await round('actions');
    const total = chain.at(chain.height).actions.size;
    expect(total).toBeGreaterThan(230);
    faults.instead = () => undefined;
    requests.length = 0;
    await round('actions');
    const facts = await news('ACTIONS');
    expect(new Set(facts.map(({ data }) => 'action' in data && data.action)).size).toBe(total);
    expect(facts).toHaveLength(total);
    expect(facts.every((fact) => fact.type === 'ActionRegistered' && fact.data.transaction !== undefined)).toBe(true);
    expect(requests.length).toBeLessThanOrEqual(10 + total - 230);
  });

  it('reads a list instead of very many single records', async () => {
    const { chain, round, news, requests } = await syncing();
    chain.register({});
    await round('actions');
    chain.block();
    for (let i = 0; i < 60; i++) chain.register({});
    requests.length = 0;
    expect(await round('actions')).toMatchObject({ facts: 60 });
    expect(requests.length).toBeLessThanOrEqual(10);
    expect(await news('ACTIONS')).toHaveLength(61);
  });

  it('goes over the same heights again after a crash before the round’s own fact, and doubles nothing', async () => {
    const { chain, round, news, log } = await syncing();
    chain.register({}, {});
    await round('actions');
    chain.block();
    chain.finalize(node, { id: '1', amount: 5 });
    chain.register({ seconds: 60 });
    const crashed = round('actions', {
      log: {
        last: log.last,
        append: async (decisions, cause) => {
          if (decisions.some(({ kind }) => kind === 'sync')) throw new Error('the process is gone');
          return log.append(decisions, cause);
        },
      },
    });
    await expect(crashed).rejects.toThrow('the process is gone');
    chain.block(100);
    await round('actions');
    expect(typesOf(await news('ACTIONS')).toSorted()).toEqual([
      'ActionExpired',
      'ActionFinalized',
      'ActionRegistered',
      'ActionRegistered',
      'ActionRegistered',
    ]);
    const rounds = await news('SYNC');
    expect(rounds.at(-1)?.data).toMatchObject({ known: { lastAction: '3' } });
    expect(openIn(rounds)).toEqual(['2']);
  });
});
