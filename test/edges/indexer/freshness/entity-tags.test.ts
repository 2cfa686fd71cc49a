import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReadScope } from '../../../../src/edges/indexer/rest/reads.ts';
import { namesTag } from '../../../../src/edges/http/if-none-match.ts';
import { createEntityTags } from '../../../../src/edges/indexer/freshness/entity-tags.ts';
import { lastOfScope } from '../../../../src/edges/indexer/freshness/last-of-scope.ts';
import type { Followed, Reading } from '../../../../src/projections/reading.ts';
import { loadReading } from '../../../support/histories/load-projection.ts';
import { type Answer, defaultSettings, now, pastOf, type RestServer, startRest } from '../rest/rest-server.ts';
import { alpha, sample } from '../rest/sample.ts';

const paths = [
  '/v1/actions',
  '/v1/actions?state=approved&limit=2',
  '/v1/actions/1',
  '/v1/actions/1/versions',
  '/v1/actions/stats',
  '/v1/supernodes/metrics',
  `/v1/supernodes/${alpha}/metrics`,
  `/v1/supernodes/${alpha}/paymentInfo`,
  '/v1/supernodes/stats',
  '/v1/supernodes/action-stats',
  '/v1/supernodes/unavailable',
  '/v1/supernodes/availability',
  `/v1/supernodes/${alpha}/availability`,
  `/v1/supernodes/${alpha}/incidents`,
  '/v1/incidents',
  '/v1/version/matrix',
];

let rest: RestServer;
let close: () => Promise<void>;
let queries = 0;
let advanced = 0;
beforeAll(async () => {
  const loaded = await loadReading(sample);
  ({ close } = loaded);
  const { db, followed, ...others } = loaded.reading;
  const ahead = (one: Followed): Followed => ({ ...one, sequence: one.sequence + advanced });
  const read = async <T>(use: (reading: Reading) => Promise<T>): Promise<T> =>
    await use({
      ...others,
      followed: { ...followed, actions: ahead(followed.actions), supernodes: ahead(followed.supernodes) },
      get db() {
        queries += 1;
        return db;
      },
    });
  rest = await startRest([], { reader: { read, generations: async () => [] }, past: pastOf(sample) });
});
afterAll(async () => {
  await rest.close();
  await close();
});

const headersOf = ({ headers }: Answer) =>
  ['etag', 'cache-control', 'vary', 'annals-position', 'annals-lag-ms'].map((name) => headers.get(name));

describe.each(paths)('GET %s', (path) => {
  it('is 304 without a query to whoever has the answer, until a projection of it advances', async () => {
    const first = await rest.get(path);
    const tag = first.headers.get('etag') ?? '';
    expect(tag).toMatch(/^W\/"[\w-]{16}\.[\da-z]{1,7}"$/);
    expect(headersOf(first).slice(1, 3)).toEqual(['no-cache', 'Accept, Accept-Datetime']);
    const conditional = { headers: { 'if-none-match': `"other", ${tag}` } };
    const before = queries;
    const again = await rest.get(path, conditional);
    expect([again.status, again.text, queries]).toEqual([304, '', before]);
    expect(headersOf(again)).toEqual(headersOf(first));
    expect((await rest.get(path, { ...conditional, method: 'HEAD' })).status).toBe(304);
    advanced += 1;
    const later = await rest.get(path, conditional);
    expect([later.status, later.headers.get('etag') === tag]).toEqual([200, false]);
  });
});

describe('caching of /v1', () => {
  it('has no tag where there is no answer', async () => {
    for (const path of ['/v1/actions/999', '/v1/actions?limit=x', '/v1/supernodes/nobody/metrics']) {
      const { status, headers } = await rest.get(path, { headers: { 'if-none-match': '*' } });
      expect([status >= 400, headers.get('etag')]).toEqual([true, null]);
    }
  });

  it('is public for an hour where the instant is closed, and tells instants of a header apart', async () => {
    const asOf = (sequence: number) => `/v1/actions/1?as_of=ACTIONS:${sequence}`;
    const caching = async (path: string) => (await rest.get(path)).headers.get('cache-control');
    const last = sample.length;
    const closed = await startRest(sample, { past: { ...pastOf(sample), storedAt: storedAt(now - 61_000) } });
    const open = await startRest(sample, { past: { ...pastOf(sample), storedAt: storedAt(now - 59_000) } });
    try {
      expect((await closed.get(asOf(last))).headers.get('cache-control')).toBe('public, max-age=3600');
      expect((await open.get(asOf(last))).headers.get('cache-control')).toBe('no-cache');
      expect(await caching(`/v1/actions/999?as_of=ACTIONS:${last}`)).toBe('no-store');
    } finally {
      await Promise.all([closed.close(), open.close()]);
    }
    const at = async (ms: number) =>
      (await rest.get('/v1/actions/1', { headers: { 'accept-datetime': new Date(ms).toUTCString() } })).headers.get(
        'etag',
      );
    expect(await at(now - 5000)).toBe(await at(now - 5000));
    expect(await at(now - 5000)).not.toBe(await at(now - 6000));
  });

  it('varies by origin too where not all may read it', async () => {
    const one = await startRest(sample, { settings: { corsAllowOrigins: ['https://a.example'] } });
    const { headers } = await one.get('/v1/actions', { headers: { origin: 'https://a.example' } });
    await one.close();
    expect(headers.get('vary')).toBe('Origin, Accept, Accept-Datetime');
    expect(headers.get('access-control-expose-headers')).toMatch(/ETag.*Preference-Applied/);
  });
});

const storedAt = (ms: number) => async () => BigInt(ms) * 1_000_000n;

describe('createEntityTags', () => {
  const followed = { actions: { stream: 'ACTIONS', incarnation: 'one', sequence: 7 } };
  const scope: Pick<ReadScope, 'projections'> = { projections: ['actions'] };
  const material = { url: '/v1/actions', reading: { schemas: { actions: 'a' }, followed }, scope, instant: undefined };
  const program = { version: '1.0.0', settings: defaultSettings, cursorKey: 'a key of at least sixteen characters' };
  const tagOf = (changes: object, of: object = {}) =>
    createEntityTags({ ...program, ...of })({ ...material, ...changes } as never);

  it('differs with everything that an answer depends on', () => {
    const reading = (schema: string, incarnation: string, sequence: number) => ({
      reading: { schemas: { actions: schema }, followed: { actions: { ...followed.actions, incarnation, sequence } } },
    });
    const tags = [
      tagOf({}),
      tagOf({ url: '/v1/actions?limit=1' }),
      tagOf({ instant: { token: 'a' } }),
      tagOf({ instant: { token: 'b' } }),
      tagOf(reading('b', 'one', 7)),
      tagOf(reading('a', 'two', 7)),
      tagOf(reading('a', 'one', 8)),
      tagOf({}, { version: '1.0.1' }),
      tagOf({}, { cursorKey: 'another key of sixteen characters' }),
      tagOf({}, { settings: { ...defaultSettings, network: 'other' } }),
      tagOf({}, { settings: { ...defaultSettings, profile: { addressPrefix: 'lumera', recommendedVersion: '2' } } }),
    ];
    expect(new Set(tags).size).toBe(tags.length);
    expect(tagOf(reading('a', 'one', 7))).toBe(tags[0]);
  });
});

describe('lastOfScope', () => {
  it('makes a text once until a position is another object, and again for other projections', () => {
    const made: unknown[] = [];
    const of = lastOfScope(({ followed }, projections) => {
      made.push(projections);
      return projections.map((name) => followed[name].sequence).join();
    });
    const at = (actions: object, rounds: object) => ({ followed: { actions, rounds }, schemas: {} }) as never;
    const [one, two] = [['actions'], ['actions', 'rounds']] as const;
    const [first, second, third] = [{ sequence: 1 }, { sequence: 2 }, { sequence: 3 }];
    const texts = [of(at(first, second), one), of(at(first, third), one), of(at(first, second), two)];
    expect([...texts, of(at(first, third), two), of(at(third, third), one), of(at(third, third), one)]).toEqual([
      '1',
      '1',
      '1,2',
      '1,3',
      '3',
      '3',
    ]);
    expect(made).toEqual([one, two, two, one]);
  });
});

describe('namesTag', () => {
  it('compares weakly, in a list, and takes * for none', () => {
    const cases: readonly (readonly [string | undefined, boolean])[] = [
      ['W/"x"', true],
      ['"x"', true],
      ['"y" , W/"x"', true],
      ['"y",W/"x-"', false],
      ['x', false],
      ['*', false],
      ['', false],
      ['"', false],
      [undefined, false],
    ];
    for (const [header, is] of cases) expect([header, namesTag(header, 'W/"x"')]).toEqual([header, is]);
  });
});
