import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ChainSession, createChainClient } from '../../../../src/edges/chain/rest/client.ts';

/** A session with a server that answers as told. */
async function sessionWith(answer: RequestListener, signal = new AbortController().signal): Promise<ChainSession> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const client = createChainClient(`http://127.0.0.1:${port}/`, { restPrefix: '/prefix' });
  onTestFinished(async () => {
    await client.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return client.session(signal);
}
const json = { 'content-type': 'application/json' };

describe('createChainClient', () => {
  it('asks below the profile’s prefix, at a height, and tells the height of the answer', async () => {
    const session = await sessionWith(({ url, headers }, response) => {
      response.writeHead(200, { ...json, 'Grpc-Metadata-X-Cosmos-Block-Height': '42' });
      response.end(JSON.stringify({ url, height: headers['x-cosmos-block-height'] }));
    });
    const answer = await session.get('~/action/v1/params', {
      height: 42,
      query: { query: "a.b='1' AND tx.height>=3" },
    });
    expect(answer).toEqual({
      height: 42,
      bytes: expect.any(Number),
      body: { url: '/prefix/action/v1/params?query=a.b%3D%271%27%20AND%20tx.height%3E%3D3', height: '42' },
    });
  });

  it('tries 429, 5xx and broken connections again, and counts every request', async () => {
    const answers = [429, 503, 0, 200];
    const session = await sessionWith((_request, response) => {
      const status = answers.shift() ?? 200;
      if (status === 0) return void response.destroy();
      response.writeHead(status, json).end('{}');
    });
    await expect(session.get('/x')).resolves.toMatchObject({ body: {} });
    expect(session.requests()).toBe(4);
  });

  it('takes 404 for an answer only where it is the chain’s', async () => {
    const session = await sessionWith(({ url }, response) => {
      response.writeHead(404, url === '/chain' ? json : { 'content-type': 'text/html' }).end('{"code":5}');
    });
    await expect(session.find('/chain')).resolves.toBeUndefined();
    await expect(session.find('/proxy')).rejects.toMatchObject({ reason: 'bad_answer' });
    expect(session.requests()).toBe(2);
  });

  it('says which height is the lowest that a node has, at once', async () => {
    const session = await sessionWith((_request, response) => {
      response.writeHead(500, json).end('{"code":13,"message":"height 6 is not available, lowest height is 50"}');
    });
    await expect(session.get('/x')).rejects.toMatchObject({ reason: 'pruned', lowestHeight: 50 });
    expect(session.requests()).toBe(1);
  });

  it.each([
    ['a redirect', 302, { ...json, location: '/elsewhere' }, '{}'],
    ['what is no JSON', 200, { 'content-type': 'text/html' }, '<html>'],
    ['an answer without end', 200, json, `"${'x'.repeat(33 * 1024 * 1024)}"`],
  ])('refuses %s, without asking again', async (_what, status, headers, body) => {
    const session = await sessionWith((_request, response) => void response.writeHead(status, headers).end(body));
    await expect(session.get('/x')).rejects.toMatchObject({ code: 'UNAVAILABLE', reason: 'bad_answer' });
    expect(session.requests()).toBe(1);
  });

  it('has at most 8 requests under way', async () => {
    let underWay = 0;
    let most = 0;
    const session = await sessionWith((_request, response) => {
      most = Math.max(most, ++underWay);
      setImmediate(() => {
        underWay -= 1;
        response.writeHead(200, json).end('{}');
      });
    });
    await Promise.all(Array.from({ length: 100 }, () => session.get('/x')));
    expect(most).toBeLessThanOrEqual(8);
  });

  it('names neither address nor secret where nobody answers, and stops when told to', async () => {
    const client = createChainClient('http://user:secret@127.0.0.1:1', { restPrefix: '' });
    const failing = client.session(new AbortController().signal).get('/x');
    await expect(failing).rejects.toMatchObject({ reason: 'unreachable' });
    await expect(failing).rejects.not.toThrow(/secret|127\.0\.0\.1/);
    const stopped = new AbortController();
    const waiting = (await sessionWith(() => stopped.abort(new Error('enough')), stopped.signal)).get('/x');
    await expect(waiting).rejects.toThrow('enough');
    await client.close();
  });
});
