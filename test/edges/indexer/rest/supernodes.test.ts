import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ranksAt } from '../../../../src/edges/indexer/rest/rank.ts';
import { nodeFacts, probeFacts } from '../../../support/histories/facts.ts';
import { askOnce, idsOf, type RestServer, startRest, walk } from './rest-server.ts';
import { alpha, beta, delta, gamma, oldAccount, operators, sample } from './sample.ts';

let rest: RestServer;
beforeAll(async () => void (rest = await startRest(sample)));
afterAll(async () => await rest.close());

const list = async (query: string) => await rest.get(`/v1/supernodes/metrics?${query}`);
const ids = async (query: string) => idsOf((await list(query)).body.supernodes);
const one = async (id: string) => (await rest.get(`/v1/supernodes/${id}/metrics`)).body;

describe('a SuperNode’s metrics', () => {
  it(
    'are those of its latest probe',
    {
      tags: [
        'S2.metrics.id',
        'S2.metrics.ip',
        'S2.metrics.status',
        'S2.metrics.rank',
        'S2.metrics.version',
        'S2.metrics.registered_services',
        'S2.metrics.peer_count',
        'S2.metrics.cpu_cores',
        'S2.metrics.cpu_usage_percent',
        'S2.metrics.memory_total_gb',
        'S2.metrics.memory_used_gb',
        'S2.metrics.storage_total_gb',
        'S2.metrics.storage_used_gb',
        'S2.metrics.failed_probe_counter',
        'S2.metrics-one.route',
      ],
    },
    async () => {
      const { status, body } = await rest.get(`/v1/supernodes/${alpha}/metrics`);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        id: alpha,
        ip: '203.0.113.7',
        status: 'available',
        rank: expect.any(Number),
        version: 'v2.6.2',
        registered_services: ['cascade'],
        peer_count: 7,
        cpu_cores: 8,
        cpu_usage_percent: 10,
        memory_total_gb: 32,
        memory_used_gb: 4.5,
        storage_total_gb: 2048,
        storage_used_gb: 100,
        failed_probe_counter: 0,
      });
    },
  );

  it(
    'are null, unavailable, 0 and [] before the first probe',
    {
      tags: [
        'S2.open.unknown-figures',
        'S2.open.nodes.status',
        'S2.open.nodes.failed_probe_counter',
        'S2.open.nodes.registered_services',
        'LS-14',
      ],
    },
    async () => {
      expect(await one(delta)).toMatchObject({
        status: 'unavailable',
        failed_probe_counter: 0,
        registered_services: [],
        rank: null,
        version: null,
        peer_count: null,
        cpu_cores: null,
        cpu_usage_percent: null,
        memory_total_gb: null,
        memory_used_gb: null,
        storage_total_gb: null,
        storage_used_gb: null,
      });
    },
  );

  it(
    'keep the last known figures after a failure',
    { tags: ['S2.open.nodes.figures', 'S2.open.unknown-figures', 'S2.open.nodes.version', 'LS-14'] },
    async () => {
      expect(await one(gamma)).toMatchObject({
        status: 'unavailable',
        version: 'v1.9.0',
        peer_count: 7,
        memory_total_gb: 32,
        failed_probe_counter: 3,
      });
    },
  );

  it('show the host without its port, names and junk as they are', { tags: ['S2.open.nodes.ip'] }, async () => {
    const shown = await Promise.all(operators.map(async (id) => (await one(id)).ip));
    expect(shown).toEqual(['203.0.113.7', 'node.example.org', '2001:db8::1', 'not an address']);
  });

  it(
    'rank from 1 at the height of the last SuperNode round, null for those that the list leaves out',
    { tags: ['S2.metrics.rank', 'S2.open.nodes.rank'] },
    async () => {
      const ranked = ranksAt(91, [
        { operator: alpha, state: 'active', registeredHeight: 1 },
        { operator: beta, state: 'active', registeredHeight: 2 },
      ]);
      const shown = await Promise.all(operators.map(async (id) => (await one(id)).rank));
      expect(shown).toEqual([ranked.get(alpha), ranked.get(beta), null, null]);
      expect(new Set(shown.slice(0, 2))).toEqual(new Set([1, 2]));
    },
  );

  it(
    'answer 404 for what is no SuperNode’s operator address',
    { tags: ['S2.open.path-id', 'S2.metrics-one.id', 'S2.payment.route'] },
    async () => {
      for (const id of [
        oldAccount,
        alpha.toUpperCase(),
        `${alpha}x`,
        'x',
        '%00',
        `${alpha}%00`,
        '%ff',
        'x'.repeat(400),
      ])
        for (const part of ['metrics', 'paymentInfo'])
          expect([id, (await rest.get(`/v1/supernodes/${id}/${part}`)).status]).toEqual([id, 404]);
      expect((await rest.get(`/v1/supernodes/${alpha}/a/b/metrics`)).status).toBe(404);
    },
  );
});

describe('a probe', () => {
  const shown = async (...probes: Parameters<typeof startRest>[0]) => {
    return (await askOnce(`/v1/supernodes/${alpha}/metrics`, [nodeFacts(alpha).listed(), ...probes])).body;
  };

  it(
    'that fails once makes a node unavailable and counts',
    { tags: ['S2.probe.fails', 'S2.open.nodes.status', 'S2.open.nodes.failed_probe_counter'] },
    async () => {
      expect(await shown(probeFacts(alpha).succeeded(), probeFacts(alpha).failed(1))).toMatchObject({
        status: 'unavailable',
        failed_probe_counter: 1,
      });
    },
  );

  it(
    'that succeeds makes it available and counts anew',
    { tags: ['S2.probe.succeeds', 'S2.open.nodes.failed_probe_counter'] },
    async () => {
      expect(await shown(probeFacts(alpha).failed(4), probeFacts(alpha).succeeded())).toMatchObject({
        status: 'available',
        failed_probe_counter: 0,
      });
    },
  );
});

describe('GET /v1/supernodes/metrics', () => {
  it(
    'answers SuperNodes by id, bytewise, their total, and a cursor on every page but the last',
    { tags: ['S2.metrics-list.body', 'S2.open.nodes.list-body', 'S2.open.nodes.order', 'LS-18'] },
    async () => {
      const all = await list('');
      expect(Object.keys(all.body)).toEqual(['supernodes', 'total']);
      expect(idsOf(all.body.supernodes)).toEqual(operators);
      const first = await list('limit=3');
      expect(Object.keys(first.body)).toEqual(['supernodes', 'total', 'cursor']);
      expect(first.body.total).toBe(4);
    },
  );

  it(
    'lists every record whatever its state, and none that has left the chain’s list',
    { tags: ['S2.open.nodes.tracked'] },
    async () => {
      const server = await startRest([...sample, nodeFacts(beta).removed()]);
      const shown = await server.get('/v1/supernodes/metrics');
      const gone = await server.get(`/v1/supernodes/${beta}/metrics`);
      await server.close();
      expect(idsOf(shown.body.supernodes)).toEqual([alpha, gamma, delta]);
      expect(gone.status).toBe(404);
    },
  );

  it('filters by the outcome of the latest probe', { tags: ['S2.metrics-list.status'] }, async () => {
    expect(await ids('status=available')).toEqual([alpha, beta]);
    expect(await ids('status=unavailable')).toEqual([gamma, delta]);
    for (const wrong of ['Available', 'up']) expect((await list(`status=${wrong}`)).status).toBe(400);
  });

  it('filters by exactly this version', { tags: ['S2.metrics-list.version'] }, async () => {
    expect(await ids('version=v2.5.0')).toEqual([beta]);
    expect(await ids('version=2.5.0')).toEqual([]);
    expect((await list('version=')).status).toBe(400);
  });

  it('filters by failures in a row, at or above', { tags: ['S2.metrics-list.minFailedProbeCounter'] }, async () => {
    expect(await ids('minFailedProbeCounter=3')).toEqual([gamma]);
    expect(await ids('minFailedProbeCounter=4')).toEqual([]);
    expect(await ids('minFailedProbeCounter=0')).toHaveLength(4);
    for (const wrong of ['-1', '1.5', 'x']) expect((await list(`minFailedProbeCounter=${wrong}`)).status).toBe(400);
  });

  it(
    'filters by state of the node or its validator, in any case and in the long form',
    { tags: ['S2.metrics-list.currentState', 'S2.open.nodes.currentState', 'LS-07'] },
    async () => {
      const cases: readonly (readonly [string, readonly string[]])[] = [
        ['active', [alpha, beta]],
        ['ACTIVE', [alpha, beta]],
        ['SUPERNODE_STATE_POSTPONED', [gamma]],
        ['storage_full', [delta]],
        ['SuperNode_State_Storage_Full', [delta]],
        ['disabled', []],
        ['stopped', []],
        ['penalized', []],
        ['bonded', [alpha]],
        ['BOND_STATUS_UNBONDING', [beta]],
        ['unbonded', [gamma]],
        ['Jailed', [beta]],
      ];
      for (const [state, found] of cases) expect([state, await ids(`currentState=${state}`)]).toEqual([state, found]);
      for (const wrong of ['x', 'SUPERNODE_STATE_', 'active,jailed', 'BOND_STATUS_ACTIVE'])
        expect((await list(`currentState=${wrong}`)).status).toBe(400);
    },
  );

  it(
    'takes 1 to 200, 50 by default',
    { tags: ['S2.metrics-list.limit', 'S2.limits.metrics-default', 'S2.open.limit', 'LS-17'] },
    async () => {
      const many = Array.from({ length: 60 }, (_, n) => nodeFacts(`node${String(n).padStart(2, '0')}`).listed());
      const server = await startRest(many);
      const length = async (query: string) =>
        idsOf((await server.get(`/v1/supernodes/metrics?${query}`)).body.supernodes).length;
      const lengths = [await length(''), await length('limit=1'), await length('limit=200')];
      await server.close();
      expect(lengths).toEqual([50, 1, 60]);
      for (const wrong of ['0', '201', '-5', 'x']) expect((await list(`limit=${wrong}`)).status).toBe(400);
    },
  );

  it(
    'walks every SuperNode once, with the same filters only',
    { tags: ['S2.metrics-list.cursor', 'S2.open.cursor'] },
    async () => {
      const pages = await walk(rest, '/v1/supernodes/metrics?limit=1');
      expect(pages.flatMap(({ body }) => idsOf(body.supernodes))).toEqual(operators);
      const { cursor } = pages[0]?.body ?? {};
      expect((await list(`status=available&cursor=${String(cursor)}`)).status).toBe(400);
      expect((await rest.get(`/v1/actions?cursor=${String(cursor)}`)).status).toBe(400);
    },
  );
});
