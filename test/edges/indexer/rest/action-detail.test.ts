import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { actionFacts, timeOf, transactionAt } from '../../../support/histories/facts.ts';
import { askOnce, asRecords, type RestServer, startRest } from './rest-server.ts';
import { alpha, creators, sample } from './sample.ts';

let rest: RestServer;
beforeAll(async () => void (rest = await startRest(sample)));
afterAll(async () => await rest.close());

describe('GET /v1/actions/{id}', () => {
  it(
    'shows all that is known',
    {
      tags: [
        'S2.detail.route',
        'S2.detail.list-fields',
        'S2.detail.creator',
        'S2.detail.approved_at',
        'S2.detail.register',
        'S2.detail.finalize',
        'S2.detail.approve',
        'S2.open.actions.detail',
      ],
    },
    async () => {
      const { status, body } = await rest.get('/v1/actions/1');
      expect(status).toBe(200);
      expect(body).toEqual({
        id: '1',
        type: 'cascade',
        status: 'approved',
        chain_state: 'approved',
        data_hash: 'hash',
        created_at: timeOf(11),
        finalized_at: timeOf(26),
        creator: creators[0],
        approved_at: timeOf(40),
        transactions: {
          register: { tx_hash: 'TX11', height: 11 },
          finalize: { tx_hash: 'TX26', height: 26 },
          approve: { tx_hash: 'TX40', height: 40 },
        },
        height: 11,
        price: { denom: 'ulume', amount: '10090' },
        expires_at: timeOf(500),
        supernodes: [alpha],
        metadata: { data_hash: 'hash', file_name: 'a file.txt', public: true },
        file_name: 'a file.txt',
        file_size_kbs: 12,
        public: true,
      });
    },
  );

  it('leaves null what is not known', { tags: ['S2.open.unknown-figures', 'S2.open.times'] }, async () => {
    const { body } = await rest.get('/v1/actions/8');
    expect(body).toMatchObject({
      created_at: null,
      finalized_at: null,
      approved_at: null,
      metadata: null,
      file_name: null,
      public: null,
      supernodes: [],
    });
  });

  it('answers 404 to an id that is unknown or ill-formed', { tags: ['S2.open.path-id'] }, async () => {
    for (const id of [
      '13',
      '0',
      '-1',
      '01',
      '1.0',
      '9223372036854775808',
      '9'.repeat(80),
      '9'.repeat(300),
      'x',
      '%00',
      '1%00',
      '%ff',
      '%zz',
      '1%2F2',
      ' ',
      '١',
    ]) {
      const answer = await rest.get(`/v1/actions/${id}`);
      expect([id, answer.status, answer.body.code]).toEqual([id, 404, 'NOT_FOUND']);
    }
  });
});

describe('an action’s way', () => {
  const facts = actionFacts('5');
  const steps = [
    facts.registered({ transaction: transactionAt(5) }),
    facts.finalized({ transaction: transactionAt(7) }),
    facts.approved({ transaction: transactionAt(9) }),
  ];
  const shown = async (count: number) => {
    return await askOnce('/v1/actions/5', steps.slice(0, count));
  };

  it('begins as registered, with time and transaction', { tags: ['S2.states.registered'] }, async () => {
    const { body } = await shown(1);
    expect(body).toMatchObject({
      status: 'registered',
      created_at: timeOf(5),
      finalized_at: null,
      transactions: { register: { tx_hash: 'TX5', height: 5 }, finalize: null, approve: null },
    });
  });

  it(
    'goes on to finalized, with time and transaction',
    { tags: ['S2.states.finalized', 'S2.action.finalized_at'] },
    async () => {
      const { body } = await shown(2);
      expect(body).toMatchObject({
        status: 'finalized',
        finalized_at: timeOf(7),
        approved_at: null,
        transactions: { finalize: { tx_hash: 'TX7', height: 7 }, approve: null },
      });
    },
  );

  it('ends as approved, with time and transaction', { tags: ['S2.states.approved'] }, async () => {
    const { body } = await shown(3);
    expect(body).toMatchObject({
      status: 'approved',
      approved_at: timeOf(9),
      transactions: { approve: { tx_hash: 'TX9', height: 9 } },
    });
  });

  it(
    'keeps a data hash that the chain has emptied since',
    { tags: ['S2.open.actions.data_hash', 'LS-05'] },
    async () => {
      const emptied = actionFacts('5', { dataHash: '' });
      const server = await startRest([
        facts.registered(),
        emptied.finalized(),
        actionFacts('6', { dataHash: '' }).registered(),
      ]);
      const hashes = [await server.get('/v1/actions/5'), await server.get('/v1/actions/6')].map(
        ({ body }) => body.data_hash,
      );
      await server.close();
      expect(hashes).toEqual(['hash', null]);
    },
  );
});

describe('GET /v1/actions/stats', () => {
  const stats = async (query = '') => await rest.get(`/v1/actions/stats?${query}`);

  it(
    'counts everything, and the steps add up',
    {
      tags: [
        'S2.stats.total_actions',
        'S2.stats.cascade_count',
        'S2.stats.sense_count',
        'S2.stats.approved_count',
        'S2.open.actions.stats',
      ],
    },
    async () => {
      expect((await stats()).body).toEqual({
        total_actions: 12,
        cascade_count: 8,
        sense_count: 4,
        registered_count: 6,
        finalized_count: 5,
        approved_count: 1,
        expired_count: 1,
      });
    },
  );

  it('counts one type when asked to', { tags: ['S2.stats.type'] }, async () => {
    expect((await stats('type=sense')).body).toMatchObject({
      total_actions: 4,
      cascade_count: 0,
      sense_count: 4,
      registered_count: 2,
      finalized_count: 2,
    });
    expect((await stats('type=x')).status).toBe(400);
  });

  it('equals the totals of the list by state', { tags: ['S2.open.actions.stats'] }, async () => {
    for (const type of ['', '&type=cascade', '&type=sense']) {
      const counts = (await stats(type)).body;
      for (const state of ['registered', 'finalized', 'approved'])
        expect(counts[`${state}_count`]).toBe((await rest.get(`/v1/actions?state=${state}${type}`)).body.total);
    }
  });

  it(
    'compares created_at, both ends included, unknown times in no window',
    { tags: ['S2.stats.from', 'S2.stats.to', 'S2.open.actions.stats', 'LS-13'] },
    async () => {
      const total = async (query: string) => (await stats(query)).body.total_actions;
      expect(await total(`from=${timeOf(13)}&to=${timeOf(15)}`)).toBe(3);
      expect(await total(`from=${timeOf(22)}`)).toBe(1);
      expect(await total(`to=${timeOf(11)}`)).toBe(1);
      expect(await total('from=0001-01-01T00:00:00Z')).toBe(11);
      expect(await total('from=2026-01-01T02:13:00%2B02:00&to=2026-01-01T00:15:00.999Z')).toBe(3);
      expect(await total('from=2026-01-01T00:13:00.0000001Z&to=2025-12-31T23:15:00-01:00')).toBe(2);
      expect(await total('to=9999-12-31T23:59:59-23:59')).toBe(11);
    },
  );

  it(
    'refuses what is no RFC 3339 time, and a lower bound above the upper',
    { tags: ['S2.stats.from', 'S2.stats.to', 'S2.open.parameter'] },
    async () => {
      for (const wrong of [
        '2026-01-01',
        '2026-01-01T00:00:00',
        '2026-13-01T00:00:00Z',
        '2026-02-30T00:00:00Z',
        '2026-01-01T24:00:00Z',
        '1767225600',
        'now',
        '2026-01-01T00:00:00+02:00',
      ])
        expect([wrong, (await stats(`from=${wrong}`)).status]).toEqual([wrong, 400]);
      expect((await stats(`from=${timeOf(2)}&to=${timeOf(1)}`)).body.error).toContain('from is above to');
      expect((await stats(`from=${timeOf(2)}&to=${timeOf(2)}`)).status).toBe(200);
    },
  );

  it('is all zeros where nothing is known', { tags: ['S2.stats.total_actions'] }, async () => {
    const server = await startRest([]);
    const [counts, list] = [await server.get('/v1/actions/stats'), await server.get('/v1/actions')];
    await server.close();
    expect(new Set(Object.values(counts.body))).toEqual(new Set([0]));
    expect(list.body).toEqual({ actions: [], total: 0, page: 1 });
    expect(asRecords(list.body.actions)).toEqual([]);
  });
});
