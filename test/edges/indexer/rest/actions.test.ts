import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askOnce, asRecords, idsOf, type RestServer, startRest, walk } from './rest-server.ts';
import { address, alpha, beta, betaAccount, creators, newAccount, oldAccount, sample } from './sample.ts';
import { actionFacts, timeOf } from '../../../support/histories/facts.ts';

let rest: RestServer;
beforeAll(async () => void (rest = await startRest(sample)));
afterAll(async () => await rest.close());

const list = async (query: string) => await rest.get(`/v1/actions?${query}`);
const ids = async (query: string) => idsOf((await list(`limit=200&${query}`)).body.actions);

describe('GET /v1/actions', () => {
  it(
    'answers actions, total and page, and a cursor on every page but the last',
    { tags: ['S2.actions.body', 'S2.open.actions.list-body'] },
    async () => {
      const first = await list('limit=11');
      expect(first.status).toBe(200);
      expect(Object.keys(first.body)).toEqual(['actions', 'total', 'page', 'cursor']);
      const last = await list('limit=12');
      expect(Object.keys(last.body)).toEqual(['actions', 'total', 'page']);
    },
  );

  it('lists the newest first: by id as a number', { tags: ['S2.open.actions.order'] }, async () => {
    expect(await ids('')).toEqual(['12', '11', '10', '9', '8', '7', '6', '5', '4', '3', '2', '1']);
  });

  it(
    'shows each action as its facts tell it',
    {
      tags: [
        'S2.action.id',
        'S2.action.type',
        'S2.action.status',
        'S2.action.created_at',
        'S2.action.finalized_at',
        'S2.action.data_hash',
      ],
    },
    async () => {
      const { body } = await list('limit=200');
      const [newest, ...others] = asRecords(body.actions);
      expect(newest).toEqual({
        id: '12',
        type: 'sense',
        status: 'registered',
        chain_state: 'pending',
        data_hash: 'hash',
        created_at: timeOf(22),
        finalized_at: null,
      });
      expect(others.at(-1)).toEqual({
        id: '1',
        type: 'cascade',
        status: 'approved',
        chain_state: 'approved',
        data_hash: 'hash',
        created_at: timeOf(11),
        finalized_at: timeOf(26),
      });
    },
  );

  it(
    'keeps the status that an expired action had, beside the chain’s own state',
    { tags: ['S2.open.actions.status'] },
    async () => {
      const { body } = await list('limit=200');
      const expired = asRecords(body.actions).find(({ id }) => id === '7');
      expect(expired).toMatchObject({ status: 'registered', chain_state: 'expired' });
    },
  );

  it('gives times to the second in UTC, and null where a time is unknown', { tags: ['S2.open.times'] }, async () => {
    const { body } = await list('limit=200');
    const times = asRecords(body.actions).map(({ created_at }) => created_at);
    expect(times.filter((time) => time === null)).toHaveLength(1);
    for (const time of times) if (time !== null) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });
});

describe('GET /v1/actions filters', () => {
  it(
    'takes cascade or sense, both when it is left out',
    { tags: ['S2.actions.type', 'S2.open.actions.words'] },
    async () => {
      expect(await ids('type=sense')).toEqual(['12', '9', '6', '3']);
      expect(await ids('type=cascade')).toHaveLength(8);
      for (const wrong of ['Sense', 'SENSE', 'ACTION_TYPE_SENSE', 'x'])
        expect((await list(`type=${wrong}`)).status).toBe(400);
    },
  );

  it('takes the last step reached', { tags: ['S2.actions.state', 'S2.open.actions.words'] }, async () => {
    expect(await ids('state=approved')).toEqual(['1']);
    expect(await ids('state=finalized')).toEqual(['6', '5', '4', '3', '2']);
    expect(await ids('state=registered')).toEqual(['12', '11', '10', '9', '8', '7']);
    for (const wrong of ['Approved', 'done', 'ACTION_STATE_DONE'])
      expect((await list(`state=${wrong}`)).status).toBe(400);
  });

  it(
    'takes a Bech32 account; a failing checksum is 400, another prefix matches nothing',
    { tags: ['S2.actions.creator', 'S2.open.actions.creator'] },
    async () => {
      expect(await ids(`creator=${creators[0]}`)).toEqual(['11', '9', '7', '5', '3', '1']);
      expect(await ids(`creator=${creators[0].toUpperCase()}`)).toHaveLength(6);
      expect(await ids(`creator=${address('cosmos', 1)}`)).toEqual([]);
      const broken = await list(`creator=${creators[0].slice(0, -1)}x`);
      expect(broken.status).toBe(400);
      expect(broken.body).toMatchObject({ code: 'INVALID_ARGUMENT', error: expect.stringContaining('creator') });
    },
  );

  it(
    'takes an account, which means that account',
    { tags: ['S2.actions.supernode', 'S2.open.actions.supernode'] },
    async () => {
      expect(await ids(`supernode=${oldAccount}`)).toEqual(['1']);
      expect(await ids(`supernode=${newAccount}`)).toEqual(['2']);
      expect(await ids(`supernode=${betaAccount}`)).toEqual(['6', '5', '4', '3']);
    },
  );

  it(
    'takes an operator address, which means every account that was its own at the time',
    { tags: ['S2.actions.supernode', 'S2.open.actions.supernode'] },
    async () => {
      expect(await ids(`supernode=${alpha}`)).toEqual(['2', '1']);
      expect(await ids(`supernode=${beta}&type=sense`)).toEqual(['6', '3']);
      expect(await ids(`supernode=${address('cosmosvaloper', 11)}`)).toEqual([]);
      expect((await list(`supernode=${alpha.slice(0, -1)}x`)).status).toBe(400);
    },
  );

  it(
    'take the height of the register transaction, both ends included',
    { tags: ['S2.actions.fromHeight', 'S2.actions.toHeight', 'S2.open.actions.heights'] },
    async () => {
      expect(await ids('fromHeight=13&toHeight=15')).toEqual(['5', '4', '3']);
      expect(await ids('fromHeight=22')).toEqual(['12']);
      expect(await ids('toHeight=11')).toEqual(['1']);
      expect((await list('fromHeight=15&toHeight=13')).body).toMatchObject({
        code: 'INVALID_ARGUMENT',
        error: expect.stringContaining('fromHeight is above toHeight'),
      });
    },
  );

  it(
    'counts exactly what matches, over all pages, whatever the filters',
    { tags: ['S2.actions.total', 'LS-18'] },
    async () => {
      const queries = [
        '',
        'type=sense',
        'state=finalized',
        `creator=${creators[1]}&type=cascade`,
        `supernode=${beta}`,
        `supernode=${betaAccount}&state=finalized`,
        'fromHeight=14',
        `creator=${creators[0]}&supernode=${oldAccount}`,
      ];
      for (const query of queries) {
        const page = await list(`limit=1&${query}`);
        expect([query, page.body.total]).toEqual([query, (await ids(query)).length]);
      }
    },
  );
});

describe('GET /v1/actions transactions', () => {
  it(
    'shows them when asked to with true or 1, not with false, 0 or by default',
    { tags: ['S2.actions.include_transactions', 'S2.action.transactions', 'S2.open.actions.include_transactions'] },
    async () => {
      const has = async (query: string) =>
        asRecords((await list(query)).body.actions).map((action) => 'transactions' in action);
      expect(await has('limit=1')).toEqual([false]);
      for (const yes of ['true', '1']) expect(await has(`limit=1&include_transactions=${yes}`)).toEqual([true]);
      for (const no of ['false', '0']) expect(await has(`limit=1&include_transactions=${no}`)).toEqual([false]);
      for (const wrong of ['True', 'yes', '2']) expect((await list(`include_transactions=${wrong}`)).status).toBe(400);
    },
  );

  it(
    'shows hash and height of each step, null before the step, a null hash where it is no longer shown',
    { tags: ['S2.open.actions.transactions'] },
    async () => {
      const { body } = await list('limit=200&include_transactions=1');
      const of = (wanted: string) => asRecords(body.actions).find(({ id }) => id === wanted)?.transactions;
      expect(of('1')).toEqual({
        register: { tx_hash: 'TX11', height: 11 },
        finalize: { tx_hash: 'TX26', height: 26 },
        approve: { tx_hash: 'TX40', height: 40 },
      });
      expect(of('2')).toMatchObject({ finalize: { tx_hash: 'TX28', height: 28 }, approve: null });
      expect(of('8')).toEqual({ register: { tx_hash: null, height: 18 }, finalize: null, approve: null });
    },
  );
});

describe('GET /v1/actions pages', () => {
  it(
    'takes 1 to 200, 20 by default',
    { tags: ['S2.actions.limit', 'S2.limits.actions-default', 'S2.open.limit', 'LS-17'] },
    async () => {
      const many = Array.from({ length: 25 }, (_, n) => actionFacts(String(n + 1)).registered());
      expect(idsOf((await askOnce('/v1/actions', many)).body.actions)).toHaveLength(20);
      expect(idsOf((await list('limit=1')).body.actions)).toHaveLength(1);
      expect((await list('limit=200')).status).toBe(200);
      for (const wrong of ['0', '-1', '201', '1.0', '1e2', '0x10', '', 'all', '%20', '99999999999999999999'])
        expect((await list(`limit=${wrong}`)).status).toBe(400);
    },
  );

  it(
    'counts the pages walked, from 1, and shows every action once',
    { tags: ['S2.actions.page', 'S2.actions.cursor'] },
    async () => {
      const pages = await walk(rest, '/v1/actions?limit=5');
      expect(pages.map(({ body }) => body.page)).toEqual([1, 2, 3]);
      expect(pages.map(({ body }) => body.total)).toEqual([12, 12, 12]);
      expect(pages.flatMap(({ body }) => idsOf(body.actions))).toEqual(await ids(''));
    },
  );

  it(
    'lets limit and include_transactions change between pages, and nothing else',
    { tags: ['S2.open.cursor'] },
    async () => {
      const { cursor } = (await list('limit=2&type=cascade')).body;
      const next = await list(`limit=3&type=cascade&include_transactions=true&cursor=${String(cursor)}`);
      expect(idsOf(next.body.actions)).toEqual(['8', '7', '5']);
      for (const other of ['', 'type=sense', 'type=cascade&fromHeight=1'])
        expect((await list(`${other}&cursor=${String(cursor)}`)).status).toBe(400);
    },
  );
});
