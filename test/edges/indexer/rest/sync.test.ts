import { afterEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/kit/errors.ts';
import { positionToken } from '../../../../src/edges/indexer/rest/headers.ts';
import { type RestServer, startRest } from './rest-server.ts';

const position = { stream: 'SYNC', incarnation: '2026-01-01T00:00:00Z', sequence: 7 } as const;
const token = 'a-token-that-nobody-guesses';
const path = '/v1/supernodes/sync';
const bearer = (text: string) => ({ method: 'POST', headers: { authorization: text } });

let rest: RestServer | undefined;
afterEach(async () => {
  await rest?.close();
  rest = undefined;
});

/** An API whose requests for a sync are counted; the first is answered by a new round, the others join it. */
async function start(settings: {
  allowManualSync?: boolean;
  syncToken?: string;
}): Promise<{ server: RestServer; asked: string[] }> {
  const asked: string[] = [];
  const server = await startRest([], {
    settings,
    requestSync: async (at) => {
      asked.push(at);
      return { position, at: asked[0] ?? at };
    },
  });
  rest = server;
  return { server, asked };
}

describe('POST /v1/supernodes/sync', () => {
  it(
    'answers 202 at once with the place of the request in the log',
    { tags: ['S2.sync.route', 'S2.sync.status', 'S2.sync.triggered_at', 'S2.open.nodes.sync'] },
    async () => {
      const { server, asked } = await start({ allowManualSync: true });
      const { status, headers, body } = await server.get(path, { method: 'POST' });
      expect([status, headers.get('annals-position')]).toEqual([202, body.position]);
      expect(body).toEqual({
        status: expect.stringMatching(/./),
        triggered_at: asked[0],
        position: positionToken([position]),
      });
      expect(body.triggered_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
      expect(String(body.position)).toMatch(/^[\w-]+$/);
    },
  );

  it('hands on the trace of its caller where that is well-formed, and no other text', async () => {
    const traces: (string | undefined)[] = [];
    rest = await startRest([], {
      settings: { allowManualSync: true },
      requestSync: async (at, traceparent) => {
        traces.push(traceparent);
        return { position, at };
      },
    });
    const trace = `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01`;
    for (const traceparent of [trace, `${trace}"`, 'x'.repeat(5000)])
      expect(await rest.get(path, { method: 'POST', headers: { traceparent } })).toMatchObject({ status: 202 });
    expect(traces).toEqual([trace, undefined, undefined]);
  });

  it(
    'answers with the position of a round that is asked for already',
    { tags: ['S2.open.nodes.sync', 'LS-21'] },
    async () => {
      const { server } = await start({ allowManualSync: true });
      const answers = [await server.get(path, { method: 'POST' }), await server.get(path, { method: 'POST' })];
      expect(answers[1]?.body).toEqual(answers[0]?.body);
    },
  );

  it(
    'answers 403 unless the instance allows it, token or not',
    { tags: ['S2.errors.403', 'S2.auth.sync', 'S2.open.nodes.sync', 'S2.settings.ALLOW_MANUAL_SYNC'] },
    async () => {
      const { server, asked } = await start({ syncToken: token });
      for (const init of [{ method: 'POST' }, bearer(`Bearer ${token}`)]) {
        const { status, body } = await server.get(path, init);
        expect([status, body.code]).toEqual([403, 'FORBIDDEN']);
      }
      expect(asked).toEqual([]);
    },
  );

  it(
    'answers 401 without the token that the instance wants, and 202 with it',
    { tags: ['S2.auth.sync', 'S2.open.nodes.sync', 'S2.settings.SYNC_TOKEN'] },
    async () => {
      const { server, asked } = await start({ allowManualSync: true, syncToken: token });
      const wrong = [
        { method: 'POST' },
        bearer(token),
        bearer('Bearer'),
        bearer(`Bearer ${token.slice(1)}`),
        bearer(`Basic ${token}`),
        bearer(`Bearer ${token} x`),
      ];
      for (const init of wrong) {
        const { status, body, headers } = await server.get(path, init);
        expect([status, body.code, headers.get('www-authenticate')]).toEqual([401, 'UNAUTHORIZED', 'Bearer']);
      }
      expect(asked).toEqual([]);
      expect((await server.get(path, bearer(`Bearer ${token}`))).status).toBe(202);
      expect((await server.get(path, bearer(`bearer ${token}`))).status).toBe(202);
    },
  );

  it('takes a body of any kind and drops it, and refuses one without measure', async () => {
    const { server } = await start({ allowManualSync: true });
    for (const [type, body] of [
      ['application/json', ''],
      ['application/json', '{'],
      ['text/plain', 'x'],
      ['application/x-www-form-urlencoded', 'a=b'],
    ] as const)
      expect([
        type,
        (await server.get(path, { method: 'POST', body, headers: { 'content-type': type } })).status,
      ]).toEqual([type, 202]);
    const large = await server.get(path, { method: 'POST', body: 'x'.repeat(100_000) });
    expect([large.status, large.body.code]).toEqual([400, 'INVALID_ARGUMENT']);
  });

  it(
    'answers 429 to who asks too often, 503 while the log does not answer',
    { tags: ['S2.open.error-body'] },
    async () => {
      const { server } = await start({ allowManualSync: true });
      const statuses = await Promise.all(
        Array.from({ length: 40 }, async () => await server.get(path, { method: 'POST' })),
      );
      const refused = statuses.filter(({ status }) => status === 429);
      expect(refused).toHaveLength(10);
      expect(refused[0]?.body.code).toBe('TOO_MANY_REQUESTS');
      expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
      await server.close();
      rest = await startRest([], {
        settings: { allowManualSync: true },
        requestSync: async () => {
          throw new AppError('UNAVAILABLE', 'down at 10.0.0.1', { cause: new Error('10.0.0.1') });
        },
      });
      const lost = await rest.get(path, { method: 'POST' });
      expect([lost.status, lost.body.code, lost.headers.has('retry-after')]).toEqual([503, 'UNAVAILABLE', true]);
      expect(lost.text).not.toContain('10.0.0.1');
    },
  );
});
