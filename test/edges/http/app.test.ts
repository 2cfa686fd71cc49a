import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { pino } from 'pino';
import { Type } from 'typebox';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type AppOptions, createApp } from '../../../src/edges/http/app.ts';
import { createStreams } from '../../../src/edges/http/sse.ts';
import { figures } from '../../../src/kit/figures.ts';
import type { Observed } from '../../../src/kit/observed.ts';
import { plainAnswer } from '../../../src/edges/http/schema.ts';

const nothing: Observed = { checks: [], gauges: [] };
const running: { close: () => Promise<unknown> }[] = [];
afterEach(async () => void (await Promise.all(running.splice(0).map(async (app) => await app.close()))));

/** Starts an app on a free port. */
async function start(options: Partial<AppOptions> = {}): Promise<string> {
  const app = createApp({
    logger: pino({ level: 'silent' }),
    network: 'test',
    description: { title: 'Sample', version: '1.2.3', description: 'An app of a test.' },
    observed: () => nothing,
    routes: (routes, addOperations) => addOperations(routes),
    ...options,
  });
  running.push(app);
  return await app.listen({ host: '127.0.0.1', port: 0 });
}

const ask = async (url: string, init?: RequestInit) => {
  const response = await fetch(url, init);
  return { status: response.status, body: await response.text() };
};
const post = (body: string, type = 'application/json') => ({
  method: 'POST',
  headers: { 'content-type': type },
  body,
});

describe('createApp', () => {
  it('waits for its routes, however long a busy machine takes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    const { promise: waiting, resolve: wait } = Promise.withResolvers<void>();
    const started = start({
      routes: async (routes, addOperations) => {
        wait();
        await opened;
        addOperations(routes);
      },
    });
    await waiting;
    vi.advanceTimersByTime(60_000);
    vi.useRealTimers();
    open();
    expect((await ask(`${await started}/healthz`)).status).toBe(200);
  });

  it('shows operations on a port of its own, with a document of its own', async () => {
    const [one, other] = await Promise.all([
      start(),
      start({ description: { title: 'Other', version: '0', description: '' } }),
    ]);
    expect(await ask(`${one}/healthz`)).toEqual({ status: 200, body: '{"status":"ok"}' });
    const documents = await Promise.all(
      [one, other].map(async (url) => JSON.parse((await ask(`${url}/openapi.json`)).body)),
    );
    expect(documents.map(({ info }) => info.title)).toEqual(['Sample', 'Other']);
    expect(Object.keys(documents[0].components.schemas)).toEqual(['Error', 'Finding', 'Liveness', 'Readiness']);
    expect((await ask(`${one}/metrics`)).body).toContain(
      'annals_http_requests_total{network="test",route="/healthz",method="GET",status="200"} 1',
    );
  });

  it('counts each stream once, whoever ends it, and what is no stream as any other', async () => {
    const url = await start({
      routes: (routes, addOperations) => {
        addOperations(routes);
        const streams = createStreams(routes, { signal: new AbortController().signal });
        routes.get('/stream', { config: { lasts: true } }, (request, reply) => void streams.open(request, reply));
      },
    });
    for (const accept of ['text/event-stream', 'text/event-stream, */*']) {
      const reader = await fetch(`${url}/stream`, { headers: { accept } });
      await reader.body?.cancel();
      await (await fetch(`${url}/nothing`, { headers: { accept } })).text();
    }
    const counted = async (): Promise<unknown> =>
      /\{.*route="\/stream".*/.exec((await ask(`${url}/metrics`)).body)?.[0];
    await expect.poll(counted).toBe('{network="test",route="/stream",method="GET",status="200"} 2');
    expect((await ask(`${url}/metrics`)).body).toContain('{network="test",route="none",method="GET",status="404"} 2');
  });

  it.each([
    { what: 'has said nothing', said: '' },
    { what: 'has said half of a request', said: 'GET / HTTP/1.1\r\nHost: a\r\n' },
    { what: 'has said one and a half', said: 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n' },
  ])('closes at once, whoever is connected and $what', async ({ said }) => {
    const url = new URL(await start());
    const socket = connect(Number(url.port), url.hostname).on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    socket.write(said);
    // Connections are served in their order, so that one is known by now.
    await ask(`${url.origin}/healthz`);
    let isClosed = false;
    const closed = Promise.all(running.splice(0).map(async (app) => await app.close())).then(() => (isClosed = true));
    await expect.poll(() => isClosed, { timeout: 20_000 }).toBe(true);
    await closed;
  });

  it('closes with its last answer, however long a client would keep the connection', async () => {
    const { promise: asked, resolve: begin } = Promise.withResolvers<void>();
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    const url = await start({
      routes: (app) =>
        void app.get('/slow', async () => {
          begin();
          await answered;
          return 'at last';
        }),
    });
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const response = new Promise<IncomingMessage>((resolve) => void get(`${url}/slow`, { agent }, resolve));
    await asked;
    let isClosed = false;
    const closed = Promise.all(running.splice(0).map(async (app) => await app.close())).then(() => (isClosed = true));
    await expect.poll(async () => await fetch(url).catch(() => 'refused'), { timeout: 10_000 }).toBe('refused');
    answer();
    const { statusCode, headers } = (await response).resume();
    expect([statusCode, headers.connection]).toEqual([200, 'keep-alive']);
    await expect.poll(() => isClosed, { timeout: 20_000 }).toBe(true);
    await closed;
  });

  it('answers readiness from the checks of whatever runs at that moment, in their order, the same thing once', async () => {
    const checks: Observed['checks'][number][] = [];
    const url = await start({ observed: () => ({ checks, gauges: [] }) });
    expect(await ask(`${url}/readyz`)).toEqual({ status: 200, body: '{"ready":true,"warnings":[],"durability":null}' });
    const lost = async () => await Promise.reject(new Error('10.0.0.1 is gone'));
    const warnings = [{ component: 'child', message: 'It is slow.' }];
    checks.push(
      { component: 'store', look: lost },
      { look: lost },
      { component: 'child', look: async () => ({ warnings, durability: 'strict' }) },
      { component: 'store', look: lost },
    );
    const { status, body } = await ask(`${url}/readyz`);
    expect([status, JSON.parse(body)]).toEqual([
      503,
      {
        ready: false,
        reasons: [{ component: 'store', message: 'The store does not answer.' }],
        warnings,
        durability: 'strict',
      },
    ]);
  });

  it('shows the figures of whatever runs: a registry of this process, or the text of another one', async () => {
    let isThere = true;
    const own = figures(
      (gauge) => ({
        up: gauge('sample_up', 'Whether it answers'),
        size: gauge('sample_size', 'How large it is', 'of'),
      }),
      async () => (isThere ? 7 : await Promise.reject(new Error('gone'))),
      ({ up, size }, seen) => {
        up.set(Number(seen !== undefined));
        if (seen !== undefined) size.set({ of: 'a' }, seen);
      },
    );
    const child = { metrics: async () => 'annals_child 1\n' };
    const url = await start({ observed: () => ({ checks: [], gauges: [own, child] }) });
    const lines = async () => (await ask(`${url}/metrics`)).body.split('\n');
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'annals_sample_up{network="test"} 1',
        'annals_sample_size{network="test",of="a"} 7',
        'annals_child{network="test"} 1',
      ]),
    );
    const values = (await lines()).filter((line) => line !== '' && !line.startsWith('#'));
    expect(values.filter((line) => !line.includes('{network="test"'))).toEqual([]);
    isThere = false;
    const later = await lines();
    expect(later).toContain('annals_sample_up{network="test"} 0');
    expect(later.filter((line) => line.startsWith('annals_sample_size'))).toEqual([]);
  });
});

describe('an app that reads bodies', () => {
  const body = Type.Object({ name: Type.String({ minLength: 1 }), size: Type.Optional(Type.Integer()) });
  const echoing: Partial<AppOptions> = {
    bodyBytes: 100,
    routes: (app) =>
      void app.post(
        '/echo',
        { schema: { body, response: { 200: plainAnswer('It.', body) } } },
        async ({ body: given }) => given,
      ),
  };

  it('gives a route the JSON that fits its schema, and names what does not', async () => {
    const url = `${await start(echoing)}/echo`;
    expect(await ask(url, post('{"name":"a"}'))).toEqual({ status: 200, body: '{"name":"a"}' });
    const refused = await ask(url, post('{"name":"a","size":"b"}'));
    expect([refused.status, JSON.parse(refused.body)]).toEqual([
      400,
      { code: 'INVALID_ARGUMENT', error: expect.stringContaining('size does not fit') },
    ]);
    for (const given of [post('{"name":'), post('{}'), { method: 'POST' }])
      expect((await ask(url, given)).status).toBe(400);
    expect((await ask(url, post('a', 'text/plain'))).status).toBe(415);
  });

  it('refuses one that is too large, and says how large it may be', async () => {
    const { status, body: answer } = await ask(`${await start(echoing)}/echo`, post(`{"name":"${'a'.repeat(200)}"}`));
    expect([status, JSON.parse(answer).error]).toEqual([413, 'The request body is too large; it may have 100 bytes.']);
  });
});

describe('limits per address', () => {
  const limited: Partial<AppOptions> = {
    routes: (app) =>
      void app.get('/limited', { config: { rateLimit: { max: 1, timeWindow: '1 minute' } } }, async ({ ip }) => ip),
  };
  const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });

  it('count the address of the connection, whatever a caller says of itself', async () => {
    const url = `${await start(limited)}/limited`;
    expect(await ask(url, from('192.0.2.1'))).toEqual({ status: 200, body: '127.0.0.1' });
    expect((await ask(url, from('192.0.2.2'))).status).toBe(429);
  });

  it('count the forwarded address behind a trusted proxy, and the last one that no trusted proxy vouches for', async () => {
    const url = `${await start({ ...limited, trustedProxies: ['127.0.0.0/8', '10.0.0.1'] })}/limited`;
    expect(await ask(url, from('192.0.2.1'))).toEqual({ status: 200, body: '192.0.2.1' });
    expect(await ask(url, from('198.51.100.9, 192.0.2.2, 10.0.0.1'))).toEqual({ status: 200, body: '192.0.2.2' });
    expect((await ask(url, from('192.0.2.1'))).status).toBe(429);
  });
});
