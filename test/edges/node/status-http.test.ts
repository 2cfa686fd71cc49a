import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import answers from '../../fixtures/node-status/answers.json' with { type: 'json' };
import { shapeOf } from '../ledger/shape.ts';
import { operationsIn } from '../../support/contract/document.ts';
import { contractTimeout, problemsOf } from '../../support/contract/problems.ts';
import { type NodeUnderTest, nodeUnderTest } from './node-under-test.ts';

let node: NodeUnderTest;
beforeAll(async () => {
  node = await nodeUnderTest();
});
afterAll(() => node[Symbol.asyncDispose]());

const ask = async (path: string, init?: RequestInit) => await fetch(`${node.http}${path}`, init);
const recorded = (name: keyof typeof answers) => JSON.parse(answers[name].body) as Record<string, unknown>;

/**
 * Maps have keys of their own, recent events there may be none of, and the real network's own metrics are null here.
 */
function comparable(status: Record<string, unknown>): unknown {
  const p2p = Object(status['p2p_metrics']) as Record<string, object>;
  const maps = { network_handle_metrics: {}, ban_list: [] };
  const dht = { ...p2p['dht_metrics'], batch_retrieve_recent: [], store_success_recent: [] };
  const network = { ...Object(status['network']), peer_addresses: [] };
  const empty = { running_tasks: [], lep6_metrics: null, network };
  return shapeOf({ ...status, ...empty, p2p_metrics: { ...p2p, ...maps, dht_metrics: dht } });
}

describe('GET /api/v1/status', () => {
  test.each(['status-p2p-snake', 'during-upload-status-p2p', 'peer-127.0.1.45-status-p2p'] as const)(
    'has the keys and types of what a real node answered: %s',
    { tags: ['S1.status.shape'] },
    async (name) => {
      const body = (await (await ask('/api/v1/status?include_p2p_metrics=true')).json()) as Record<string, unknown>;
      expect(comparable(body)).toEqual(comparable(recorded(name)));
      expect(body['lep6_metrics']).toBeNull();
    },
  );

  test(
    'leaves out the P2P part unless asked, and takes both names of the parameter',
    { tags: ['S1.status.request'] },
    async () => {
      const plain = await ask('/api/v1/status');
      expect(plain.headers.get('access-control-allow-origin')).toBe('*');
      expect(await plain.json()).toMatchObject({ p2p_metrics: null, network: { peers_count: 0, peer_addresses: [] } });
      for (const query of ['includeP2pMetrics=true', 'include_p2p_metrics=T', 'include_p2p_metrics=1'])
        expect(await (await ask(`/api/v1/status?${query}`)).json()).toMatchObject({ p2p_metrics: { ban_list: [] } });
      for (const query of ['includeP2PMetrics=true', 'include_p2p_metrics=F', 'include_p2p_metrics=0'])
        expect(await (await ask(`/api/v1/status?${query}`)).json()).toMatchObject({ p2p_metrics: null });
    },
  );

  test(
    'tells how busy the processors are now, not when it was asked before',
    { tags: ['S1.resources.cpu'] },
    async () => {
      const processor = { usagePercent: 10, cores: 2 };
      await using seldomAsked = await nodeUnderTest({ processor: async () => ({ ...processor }) });
      const told = async () => (await fetch(`${seldomAsked.http}/api/v1/status`)).json();
      vi.useFakeTimers({ toFake: ['performance'] });
      try {
        expect(await told()).toMatchObject({ resources: { cpu: { usage_percent: 10 } } });
        processor.usagePercent = 90;
        vi.advanceTimersByTime(2000);
        expect(await told()).toMatchObject({ resources: { cpu: { usage_percent: 90 } } });
      } finally {
        vi.useRealTimers();
      }
    },
  );

  test('names every handler and every key of the pool', { tags: ['S1.p2p.handlers', 'S1.p2p.pool'] }, async () => {
    const body = await (await ask('/api/v1/status?include_p2p_metrics=true')).json();
    expect(body).toMatchObject({
      p2p_metrics: {
        network_handle_metrics: { Ping: { total: '0', success: '0', failure: '0', timeout: '0' } },
        conn_pool_metrics: { adds_total: '0', capacity: '0', reuse_hits_total: '0' },
      },
    });
  });
});

describe('GET /api/v1/services', () => {
  test('has the shape of what a real node answered', { tags: ['S1.status.shape'] }, async () => {
    expect(shapeOf(await (await ask('/api/v1/services')).json())).toEqual(shapeOf(recorded('services')));
  });
});

describe('the status port', () => {
  test.each([
    ['GET', '/api/v1/nope', 404, 5],
    ['GET', '/api/v1/status/', 404, 5],
    ['POST', '/api/v1/status', 501, 12],
    ['DELETE', '/api/v1/services', 501, 12],
    ['GET', '/api/v1/status?include_p2p_metrics=banana', 400, 3],
  ])('%s %s is refused as real nodes refuse it', { tags: ['S1.http.refusals'] }, async (method, path, status, code) => {
    const response = await ask(path, { method });
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ code, message: expect.any(String), details: [] });
  });

  test(
    'HEAD is refused with 501, OPTIONS is answered with what may be asked from elsewhere',
    { tags: ['S1.http.refusals'] },
    async () => {
      expect((await ask('/api/v1/status', { method: 'HEAD' })).status).toBe(501);
      const options = await ask('/api/v1/status', { method: 'OPTIONS' });
      expect([options.status, await options.text()]).toEqual([200, '']);
      expect(options.headers.get('access-control-allow-methods')).toBe('GET, POST, PUT, DELETE, OPTIONS');
    },
  );

  test(
    'describes itself at /swagger.json, down to the fields of the status',
    { tags: ['S1.http.swagger'] },
    async () => {
      const document = await (await ask('/swagger.json')).json();
      expect(document).toMatchObject({
        paths: {
          '/api/v1/status': { get: expect.anything() },
          '/api/v1/services': { get: expect.anything() },
          '/api/v1/files': { get: expect.anything() },
        },
        components: {
          schemas: {
            'supernode.StatusResponse': {
              properties: { uptime_seconds: { type: 'string' }, rank: { type: 'integer' } },
            },
          },
        },
      });
    },
  );

  test('has a page that tries it, which loads nothing from elsewhere', { tags: ['S1.http.swagger'] }, async () => {
    const page = await ask('/');
    expect(page.url).toBe(`${node.http}/swagger-ui/`);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'self'");
    const html = await page.text();
    expect(html).toContain('href="/swagger.json"');
    expect(html).not.toMatch(/(src|href)="(https?:)?\/\//);
    const loaded = [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path ?? '');
    expect(loaded.length).toBeGreaterThan(3);
    for (const path of loaded) expect((await ask(path)).status, path).toBe(200);
  });

  test('holds for requests that fit it and for hostile ones', { timeout: contractTimeout }, async () => {
    const operations = operationsIn((await (await ask('/swagger.json')).json()) as Record<string, unknown>);
    expect(operations).toHaveLength(3);
    const server = { port: Number(new URL(node.http).port) };
    const problems: string[] = [];
    for (const operation of operations)
      for (const kind of ['fitting', 'hostile'] as const)
        problems.push(...(await problemsOf(operation, server, { kind, known: {} })));
    expect(problems).toEqual([]);
  });

  test('answers 404 in words outside of /api', async () => {
    const response = await ask('/nope');
    expect([response.status, await response.text()]).toEqual([404, '404 page not found\n']);
  });
});
