import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/kit/errors.ts';
import { toRestError } from '../../../../src/edges/http/errors.ts';
import { askOnce, type RestServer, startRest } from './rest-server.ts';
import { alpha, creators, sample } from './sample.ts';

let rest: RestServer;
beforeAll(
  async () =>
    void (rest = await startRest(sample, {
      settings: { corsAllowOrigins: ['https://a.example', 'https://b.example'] },
    })),
);
afterAll(async () => await rest.close());

/** What the server answers to bytes that no client library would send. */
async function raw(bytes: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(rest.url).port) });
  socket.end(bytes);
  return await text(socket);
}

const gets = [
  '/v1/actions',
  '/v1/actions/1',
  '/v1/actions/stats',
  '/v1/supernodes/metrics',
  `/v1/supernodes/${alpha}/metrics`,
  `/v1/supernodes/${alpha}/paymentInfo`,
  '/v1/supernodes/stats',
  '/v1/supernodes/action-stats',
  '/v1/supernodes/unavailable',
  '/v1/version/matrix',
  '/healthz',
  '/readyz',
  '/openapi.json',
  '/metrics',
];

describe.each(gets)('%s', (path) => {
  it(
    'is read without authentication, and answers HEAD like GET without its body',
    { tags: ['S2.auth.none', 'S2.open.routes.head', 'LS-20'] },
    async () => {
      const [get, head] = [await rest.get(path), await rest.get(path, { method: 'HEAD' })];
      expect([get.status, head.status, head.text]).toEqual([200, 200, '']);
      const same = ['content-type', 'annals-position', 'annals-lag-ms', 'annals-chain-age-ms'];
      expect(same.map((name) => head.headers.get(name))).toEqual(same.map((name) => get.headers.get(name)));
    },
  );

  it('is not found with a trailing slash', { tags: ['S2.open.routes.trailing-slash'] }, async () => {
    const { status, body } = await rest.get(`${path}/`);
    expect([status, body.code]).toEqual([404, 'NOT_FOUND']);
  });

  it('refuses other methods with 405 and what it takes', { tags: ['S2.open.error-body'] }, async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const { status, body, headers } = await rest.get(path, { method });
      expect([status, body.code, headers.get('allow')]).toEqual([405, 'METHOD_NOT_ALLOWED', 'GET, HEAD, OPTIONS']);
    }
  });

  it('answers OPTIONS with what it takes', { tags: ['S2.open.routes.cors'] }, async () => {
    const { status, headers } = await rest.get(path, { method: 'OPTIONS' });
    expect([status, headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
  });

  it('is JSON, but for the metrics', { tags: ['S2.json', 'S2.versioning.prefix'] }, async () => {
    const { headers } = await rest.get(path);
    expect(headers.get('content-type')).toMatch(path === '/metrics' ? /^text\/plain/ : /^application\/json/);
  });
});

describe('routes', () => {
  it('refuses GET on the sync with 405', { tags: ['S2.open.error-body'] }, async () => {
    const { status, headers } = await rest.get('/v1/supernodes/sync');
    expect([status, headers.get('allow')]).toEqual([405, 'OPTIONS, POST']);
  });

  it('answers 404 to any other path', { tags: ['S2.versioning.prefix', 'S2.open.error-body', 'LS-19'] }, async () => {
    for (const path of [
      '/v1',
      '/v2/actions',
      '/actions',
      '/v1/Actions',
      '/v1//actions',
      '/v1/version',
      '/docs/x',
      '/%zz',
      '/%00',
      '/..%2f',
    ])
      expect([path, (await rest.get(path)).body.code]).toEqual([path, 'NOT_FOUND']);
  });

  it('answers a preflight as configured', { tags: ['S2.open.routes.cors', 'S2.env.CORS_ALLOW_ORIGINS'] }, async () => {
    const preflight = async (origin: string) =>
      await rest.get('/v1/supernodes/sync', {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
      });
    const allowed = await preflight('https://b.example');
    expect([
      allowed.status,
      allowed.headers.get('access-control-allow-origin'),
      allowed.headers.get('access-control-allow-methods'),
      allowed.headers.get('access-control-allow-headers'),
    ]).toEqual([204, 'https://b.example', 'GET,HEAD,POST', 'authorization']);
    const other = await preflight('https://c.example');
    expect([other.status, other.headers.get('access-control-allow-origin')]).toEqual([204, null]);
  });

  it('lets the allowed origins read the headers, on errors too', { tags: ['S2.open.routes.cors'] }, async () => {
    for (const path of ['/v1/actions', '/v1/actions?limit=0', '/nothing']) {
      const { headers } = await rest.get(path, { headers: { origin: 'https://a.example' } });
      expect([headers.get('access-control-allow-origin'), headers.get('access-control-expose-headers')]).toEqual([
        'https://a.example',
        expect.stringContaining('Annals-Position'),
      ]);
    }
  });

  it('allows every origin where nothing is set', { tags: ['S2.env.CORS_ALLOW_ORIGINS'] }, async () => {
    const { headers } = await askOnce('/healthz', []);
    expect(headers.get('access-control-allow-origin')).toBe('*');
  });
});

describe('errors', () => {
  it(
    'name the parameter and what is accepted',
    { tags: ['S2.open.error-body', 'S2.open.parameter', 'LS-17'] },
    async () => {
      const cases = [
        ['limit=x', 'limit is "x"; it takes a whole number from 1 to 200.'],
        ['limit=', 'limit is empty; it takes a whole number from 1 to 200.'],
        ['limit', 'limit is empty; it takes a whole number from 1 to 200.'],
        ['limit=1&limit=1', 'limit is given more than once; it takes a whole number from 1 to 200, once.'],
        ['type=%00', 'type is "\\u0000"; it takes one of cascade, sense.'],
        ['include_transactions=TRUE', 'include_transactions is "TRUE"; it takes true, false, 1 or 0.'],
        [
          'fromHeight=2&toHeight=1',
          'fromHeight is above toHeight; nothing can lie between them. Exchange them or leave one out.',
        ],
      ] as const;
      for (const [query, error] of cases) {
        const { status, body } = await rest.get(`/v1/actions?${query}`);
        expect([query, status, body]).toEqual([query, 400, { error, code: 'INVALID_ARGUMENT' }]);
      }
    },
  );

  it('ignore unknown parameters', { tags: ['S2.open.parameter'] }, async () => {
    expect((await rest.get('/v1/actions?LIMIT=0&page=7&nonsense&__proto__=x&constructor=1')).body.total).toBe(12);
    expect((await rest.get('/v1/supernodes/stats?limit=x')).status).toBe(200);
  });

  it(
    'never become a 5xx through NUL or broken percent-encoding',
    { tags: ['S2.open.parameter', 'LS-16'] },
    async () => {
      for (const query of [
        'creator=%00',
        'creator=%ff',
        'supernode=%zz',
        'cursor=%00',
        'version=%00',
        'type=%',
        '%00=1',
        'fromHeight=%00',
      ])
        for (const path of ['/v1/actions', '/v1/supernodes/metrics', '/v1/actions/stats'])
          expect((await rest.get(`${path}?${query}`)).status).toBeLessThan(500);
      expect((await rest.get('/v1/supernodes/metrics?version=%00')).status).toBe(400);
    },
  );

  it(
    'are 500 without detail for what is our fault, 503 with Retry-After while the database is away',
    { tags: ['S2.open.error-body'] },
    async () => {
      const failing = async (error: Error) => {
        const read = async (): Promise<never> => {
          throw error;
        };
        const reader = { read, generations: async () => [] };
        return await askOnce('/v1/actions', [], { reader });
      };
      const ours = await failing(new Error('a secret of ours'));
      expect([ours.status, ours.body.code, ours.text.includes('secret')]).toEqual([500, 'INTERNAL', false]);
      const lost = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:5432'), { code: 'ECONNREFUSED' });
      for (const error of [lost, new AppError('UNAVAILABLE', 'at 10.0.0.1', { cause: lost })]) {
        const away = await failing(error);
        expect([away.status, away.body.code, away.text.includes('10.0.0.1')]).toEqual([503, 'UNAVAILABLE', false]);
        expect(Number(away.headers.get('retry-after'))).toBeGreaterThan(0);
      }
    },
  );
});

describe('toRestError', () => {
  it('is UNAVAILABLE where an answer took too long', { tags: ['S2.open.error-body'] }, () => {
    const late = Object.assign(new Error('late'), { code: 'FST_ERR_HANDLER_TIMEOUT', statusCode: 503 });
    expect(toRestError(late)).toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('too long') });
  });

  it('is INTERNAL for everything that nobody expected', { tags: ['S2.open.error-body'] }, () => {
    for (const thrown of ['a text', undefined, null, 7, {}, new TypeError('x')])
      expect(toRestError(thrown).code).toBe('INTERNAL');
  });
});

describe('bounds', () => {
  it('refuse an address of more than 8 KiB', async () => {
    const { status, body } = await rest.get(`/v1/actions?x=${'y'.repeat(9000)}`);
    expect([status, body.code]).toEqual([400, 'INVALID_ARGUMENT']);
  });

  it('refuse more than 16 KiB of headers, and what is no HTTP, in the same form', async () => {
    expect(await raw(`GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 [\s\S]*"code":"INVALID_ARGUMENT"/,
    );
    expect(await raw('what is this\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 [\s\S]*"code":"INVALID_ARGUMENT"/);
  });

  it('take an address of every right form that a Bech32 text can have', async () => {
    for (const creator of [
      creators[0].slice(0, 10).toUpperCase() + creators[0].slice(10),
      'a',
      '1',
      'a'.repeat(129),
      `${creators[0]}1`,
    ])
      expect([creator, (await rest.get(`/v1/actions?creator=${creator}`)).status]).toEqual([creator, 400]);
  });
});
