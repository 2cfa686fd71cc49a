import { connect } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RestServer, startRest } from './rest-server.ts';
import { alpha, creators, sample } from './sample.ts';

let rest: RestServer;
beforeAll(async () => void (rest = await startRest(sample)));
afterAll(async () => await rest.close());

const routes = [
  '/v1/actions',
  '/v1/actions/stats',
  '/v1/supernodes/metrics',
  '/v1/supernodes/unavailable',
  '/v1/version/matrix',
  '/v1/supernodes/stats',
];
const names = [
  'type',
  'creator',
  'state',
  'supernode',
  'fromHeight',
  'toHeight',
  'dataHash',
  'limit',
  'cursor',
  'include_transactions',
  'from',
  'to',
  'status',
  'currentState',
  'version',
  'minFailedProbeCounter',
  'x',
];
const right = [
  'cascade',
  'finalized',
  'available',
  'jailed',
  'v2.5.0',
  '1',
  '20',
  'true',
  '2026-01-01T00:00:00Z',
  creators[0],
  alpha,
];

const ugly = fc.oneof(
  fc.constantFrom(
    '',
    '\0',
    '%',
    '%zz',
    '%ff',
    '%ed%a0%80',
    '-0',
    '1e9',
    '9223372036854775808',
    '0000-01-01T00:00:00+23:59',
    '9999-12-31T23:59:60Z',
    '../../..',
    "';--",
    '{}',
    '[]',
    '\u{1F600}',
    '\uD800',
    'NaN',
    'null',
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.bigInt().map(String),
);
const value = fc.oneof(
  fc.constantFrom(...right),
  ugly,
  fc.constantFrom(...right).chain((text) => fc.nat(text.length).map((cut) => text.slice(0, cut))),
);
const encoded = fc.oneof(
  { weight: 4, arbitrary: value.map((one) => encodeURIComponent(one.toWellFormed())) },
  { weight: 1, arbitrary: value.map((one) => one.replaceAll(/[^\x21-\x7e]|[#?]/g, '')) },
);
const query = fc
  .array(fc.tuple(fc.constantFrom(...names), encoded), { maxLength: 5 })
  .map((pairs) => pairs.map(([name, one]) => `${name}=${one}`).join('&'));
const segment = fc.oneof(
  encoded,
  fc.constantFrom('v1', 'actions', 'supernodes', 'metrics', 'paymentInfo', 'stats', '1', alpha),
);

/** One answer, whatever was asked: never a 5xx, refusals always in their one form. */
async function expectAnswer(path: string, init?: RequestInit): Promise<void> {
  const { status, body } = await rest.get(path, init);
  if (status >= 500) throw new Error(`${path} answered ${status}`);
  if (status >= 400)
    expect(body).toEqual({ error: expect.stringMatching(/./), code: expect.stringMatching(/^[A-Z_]+$/) });
}

describe('whatever is asked', () => {
  it('parameters never give a 5xx', { tags: ['S2.open.parameter', 'LS-16'], timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...routes),
        query,
        async (route, asked) => await expectAnswer(`${route}?${asked}`),
      ),
      { numRuns: 600 },
    );
  });

  it('changed cursors are refused', { tags: ['S2.open.cursor'], timeout: 60_000 }, async () => {
    const { body } = await rest.get('/v1/actions?limit=1');
    const cursor = String(body.cursor);
    await fc.assert(
      fc.asyncProperty(fc.nat(cursor.length - 1), fc.constantFrom(...'AZaz09-_.=%'.split('')), async (at, change) => {
        fc.pre(cursor[at] !== change);
        const { status } = await rest.get(
          `/v1/actions?limit=1&cursor=${cursor.slice(0, at)}${change}${cursor.slice(at + 1)}`,
        );
        expect(status).toBe(400);
      }),
      { numRuns: 150 },
    );
  });

  it('paths never give a 5xx', { tags: ['S2.open.path-id'], timeout: 60_000 }, async () => {
    const path = fc.array(segment, { maxLength: 6 }).map((segments) => `/${segments.join('/')}`);
    await fc.assert(
      fc.asyncProperty(path, async (asked) => {
        const isElsewhere = new URL(rest.url + asked).pathname === '/live';
        fc.pre(!isElsewhere && !asked.startsWith('//'));
        await expectAnswer(asked);
      }),
      { numRuns: 200 },
    );
  });

  it('headers never give a 5xx', { timeout: 60_000 }, async () => {
    const name = fc.constantFrom(
      'origin',
      'accept',
      'accept-encoding',
      'authorization',
      'content-type',
      'if-none-match',
      'range',
      'x-forwarded-for',
      'access-control-request-method',
    );
    const text = fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
      maxLength: 60,
    });
    const method = fc.constantFrom('GET', 'HEAD', 'POST', 'OPTIONS', 'DELETE', 'PROPFIND');
    await fc.assert(
      fc.asyncProperty(
        method,
        fc.constantFrom(...routes, '/v1/supernodes/sync'),
        fc.dictionary(name, text),
        async (one, route, headers) => {
          const { status } = await rest.get(route, { method: one, headers });
          expect(status).toBeLessThan(500);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('bytes that are no request never give a 5xx, nor an answer that is none', { timeout: 60_000 }, async () => {
    const line = fc.tuple(
      fc.constantFrom('GET', 'get', 'G\0T', ''),
      fc.string({ unit: 'binary-ascii', maxLength: 30 }),
      fc.constantFrom('HTTP/1.1', 'HTTP/1.0', 'HTTP/9', ''),
    );
    await fc.assert(
      fc.asyncProperty(line, fc.string({ unit: 'binary-ascii', maxLength: 60 }), async (parts, more) => {
        const socket = connect({ host: '127.0.0.1', port: Number(new URL(rest.url).port) }).on(
          'error',
          () => undefined,
        );
        socket.end(`${parts.join(' ')}\r\nHost: x\r\n${more}\r\n\r\n`);
        const answer = await textOf(socket).catch(() => '');
        expect(answer).toMatch(/^$|^HTTP\/1\.1 [1-4]\d\d /);
      }),
      { numRuns: 150 },
    );
  });
});
