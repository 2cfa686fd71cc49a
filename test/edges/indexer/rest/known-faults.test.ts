import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { actionFacts, nodeFacts, probeFacts } from '../../../support/histories/facts.ts';
import { asRecords, askOnce, idsOf, type RestServer, startRest } from './rest-server.ts';
import { alpha, beta, delta, sample } from './sample.ts';

let rest: RestServer;
beforeAll(async () => void (rest = await startRest(sample)));
afterAll(async () => await rest.close());

describe('what readers see', () => {
  it('keeps the outcome of a probe whatever the chain says of the node afterwards', { tags: ['LS-03'] }, async () => {
    const node = nodeFacts(alpha);
    const facts = [node.listed(), probeFacts(alpha).succeeded({ cpuCores: 8 }), node.changed({ note: 'more' })];
    const { body } = await askOnce('/v1/supernodes/metrics?status=available', facts);
    expect(body.supernodes).toMatchObject([{ id: alpha, status: 'available', cpu_cores: 8 }]);
    expect((await askOnce('/v1/supernodes/stats', facts)).body).toMatchObject({ available_count: 1 });
  });

  it('tells a private file from one of which nothing is known', { tags: ['LS-06'] }, async () => {
    const known = [actionFacts('1').registered({ metadata: 'CgFo' }), actionFacts('2').registered({ metadata: '' })];
    expect((await askOnce('/v1/actions/1', known)).body).toMatchObject({ public: false });
    expect((await askOnce('/v1/actions/2', known)).body).toMatchObject({ public: null });
  });

  it('holds addresses of any length and ids of any size, and finds them', { tags: ['LS-10'] }, async () => {
    const huge = '184467440737095516160';
    const address = `${'x'.repeat(1_000)}:4444`;
    const facts = [nodeFacts(alpha).listed({ address }), actionFacts(huge).registered(), actionFacts('9').registered()];
    const nodes = await askOnce('/v1/supernodes/metrics', facts);
    expect(idsOf(nodes.body.supernodes)).toEqual([alpha]);
    expect(idsOf((await askOnce('/v1/actions', facts)).body.actions)).toEqual([huge, '9']);
    expect((await askOnce(`/v1/actions/${huge}`, facts)).status).toBe(200);
  });

  it(
    'calls a node that was never probed, or cannot be, unavailable with null in place of figures',
    { tags: ['LS-14'] },
    async () => {
      const { body } = await rest.get(`/v1/supernodes/${delta}/metrics`);
      expect(body).toMatchObject({ status: 'unavailable', cpu_cores: null, memory_total_gb: null, last_seen_at: null });
      const moved = [nodeFacts(beta).listed(), probeFacts(beta).succeeded(), probeFacts(beta).failed(1)];
      const after = await askOnce(`/v1/supernodes/${beta}/metrics`, moved);
      expect(after.body).toMatchObject({ status: 'unavailable', failed_probe_counter: 1, cpu_cores: null });
    },
  );
});

describe('the form of answers', () => {
  it('has nothing at a path with more segments than a route', { tags: ['LS-17'] }, async () => {
    for (const path of [`/v1/supernodes/${alpha}/a/b/metrics`, '/v1/actions/1/2', '/v1/supernodes/metrics/more'])
      expect((await rest.get(path)).status, path).toBe(404);
  });

  it('is the same on every route: lists are never null, errors are JSON with a code', { tags: ['LS-19'] }, async () => {
    const lists = [
      '/v1/actions',
      '/v1/supernodes/metrics',
      '/v1/supernodes/unavailable',
      '/v1/supernodes/action-stats',
    ];
    for (const path of lists) {
      const { body } = await askOnce(path, []);
      expect(asRecords(Object.values(body)[0]), path).toEqual([]);
    }
    const refused = [['/v1/nothing'], ['/v1/supernodes/a/b/c'], ['/v1/actions?limit=x'], ['/v1/actions', 'DELETE']];
    for (const [path = '', method = 'GET'] of refused) {
      const { status, headers, body } = await rest.get(path, { method });
      expect(status).toBeGreaterThanOrEqual(400);
      expect(headers.get('content-type')).toMatch(/^application\/json/);
      expect(body).toEqual({ error: expect.any(String), code: expect.any(String) });
    }
  });

  it(
    'is never answered from a cache without a request, whatever the caller has seen',
    { tags: ['LS-20'] },
    async () => {
      const conditions = {
        'if-modified-since': 'Fri, 31 Dec 2100 00:00:00 GMT',
        'if-none-match': '*',
      };
      for (const path of ['/v1/actions', '/v1/supernodes/stats', '/v1/actions/1', '/v1/version/matrix']) {
        const { status, headers } = await rest.get(path, { headers: conditions });
        expect([status, headers.get('cache-control'), headers.get('last-modified')]).toEqual([200, 'no-cache', null]);
      }
    },
  );
});
