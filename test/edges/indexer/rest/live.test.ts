import { connect } from 'node:net';
import { EventEmitter, once } from 'node:events';
import { get, IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RestServer, startRest } from './rest-server.ts';

const events = new EventEmitter().setMaxListeners(0);
let rest: RestServer;
let subscribers = 0;

beforeEach(async () => {
  subscribers = 0;
  rest = await startRest([], {
    subscribe: (onEvent) => {
      subscribers += 1;
      events.on('event', onEvent);
      return () => {
        subscribers -= 1;
        events.off('event', onEvent);
      };
    },
  });
});
afterEach(async () => await rest.close());

/** Opens the stream; `next` gives its next piece of text, undefined at its end. */
async function open() {
  const request = get(`${rest.url}/live`, { agent: false, headers: { origin: 'https://a.example' } });
  const [response] = await once(request, 'response');
  if (!(response instanceof IncomingMessage)) throw new Error('No answer');
  const pieces: AsyncIterator<unknown> = response.setEncoding('utf8')[Symbol.asyncIterator]();
  return {
    status: response.statusCode,
    headers: response.headers,
    next: async () => (await pieces.next()).value,
    leave: () => void request.destroy(),
  };
}

describe('GET /live', () => {
  it('sends every event as one message, to everybody', async () => {
    const clients = [await open(), await open()];
    for (const { status, headers, next } of clients) {
      expect(status).toBe(200);
      expect(headers['content-type']).toBe('text/event-stream');
      expect(headers['x-accel-buffering']).toBe('no');
      expect(headers['access-control-allow-origin']).toBe('*');
      expect(await next()).toBe('retry: 3000\n\n');
    }
    events.emit('event', '{"id":"1"}');
    for (const { next } of clients) expect(await next()).toBe('data: {"id":"1"}\n\n');
    expect(subscribers).toBe(1);
  });

  it('follows the log only while somebody reads', async () => {
    expect(subscribers).toBe(0);
    const { leave } = await open();
    expect(subscribers).toBe(1);
    leave();
    await expect.poll(() => subscribers).toBe(0);
    await open();
    expect(subscribers).toBe(1);
  });

  it('ends when the server does', async () => {
    const { next } = await open();
    await next();
    await rest.close();
    expect(await next()).toBeUndefined();
    rest = await startRest([]);
  });

  it('takes 200 readers, and then asks others to wait', async () => {
    const clients = await Promise.all(Array.from({ length: 200 }, async () => await open()));
    const refused = await rest.get('/live');
    expect([refused.status, refused.body.code, refused.headers.has('retry-after')]).toEqual([503, 'UNAVAILABLE', true]);
    clients[0]?.leave();
    await expect.poll(async () => await open().then(({ status, leave }) => (leave(), status))).toBe(200);
  });

  it('cuts off who does not read', { timeout: 60_000 }, async () => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(rest.url).port) });
    socket.write('GET /live HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'readable');
    const event = JSON.stringify({ text: 'x'.repeat(100_000) });
    while (subscribers > 0) {
      events.emit('event', event);
      await new Promise(setImmediate);
    }
    socket.resume();
    await once(socket, 'close');
    expect(subscribers).toBe(0);
  });

  it('answers HEAD with its headers alone', async () => {
    const { status, text, headers } = await rest.get('/live', { method: 'HEAD' });
    expect([status, text, headers.get('content-type')]).toEqual([200, '', 'text/event-stream']);
    expect(subscribers).toBe(0);
  });
});
