import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type TcpNetConnectOpts } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { type AppOptions, createApp } from '../../../src/edges/http/app.ts';
import type { App } from '../../../src/edges/http/schema.ts';
import { listenAt } from '../../../src/edges/http/server.ts';

/** An app that closes with the test. */
function appWith(options: Partial<AppOptions>): App {
  const app = createApp({
    logger: pino({ level: 'silent' }),
    network: 'test',
    description: { title: 'Sample', version: '1.2.3', description: 'An app of a test.' },
    observed: () => ({ checks: [], gauges: [] }),
    routes: (routes, addOperations) => addOperations(routes),
    ...options,
  });
  onTestFinished(async () => await app.close());
  return app;
}

const free = { host: '127.0.0.1', port: 0 };

/** Returns whether a new connection, which stays open, is answered, and not closed or refused. */
async function isAlive(to: TcpNetConnectOpts): Promise<boolean> {
  const socket = connect(to);
  onTestFinished(() => void socket.destroy());
  socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
  const ended = once(socket, 'close').then(() => false);
  return await Promise.race([once(socket, 'data').then(() => true), ended]).catch(() => false);
}

it('cuts off a client that takes nothing of an answer, and no other', { tags: ['S3.stream.slow'] }, async () => {
  const text = 'x'.repeat(32 * 2 ** 20);
  const callers: IncomingMessage['socket'][] = [];
  const url = await listenAt(
    appWith({
      stallMs: 400,
      routes: (routes) => {
        routes.get('/text', async ({ raw }) => {
          callers.push(raw.socket);
          return await Promise.resolve(text);
        });
        routes.get('/late', async () => await delay(1_000, 'late'));
      },
    }),
    free,
  );
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) }).on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  socket.pause().write('GET /text HTTP/1.1\r\nHost: a\r\n\r\n');
  await expect.poll(() => callers[0]?.destroyed, { timeout: 10_000 }).toBe(true);
  expect(await (await fetch(`${url}/late`)).text()).toBe('late');
  expect(await (await fetch(`${url}/text`)).text()).toHaveLength(text.length);
});

it('closes connections of one address beyond its own at once', { tags: ['S3.limits.bodies'] }, async () => {
  const { port } = new URL(await listenAt(appWith({ connections: { most: 9, mostPerAddress: 1 } }), free));
  const alive = async (localAddress: string) => await isAlive({ host: '127.0.0.1', port: Number(port), localAddress });
  expect([await alive('127.0.0.1'), await alive('127.0.0.1'), await alive('127.0.0.2')]).toEqual([true, false, true]);
});

it('bounds the connections of every address that it is opened at', { tags: ['S3.limits.bodies'] }, async () => {
  const app = appWith({ connections: { most: 9, mostPerAddress: 1 } });
  const { port } = new URL(await listenAt(app, { host: 'localhost', port: 0 }));
  const alive = async (host: string) => await isAlive({ host, port: Number(port) });
  const addresses = await lookup('localhost', { all: true });
  const opened = await Promise.all(addresses.map(async ({ address }) => [await alive(address), await alive(address)]));
  expect(opened).toContainEqual([true, false]);
  expect(opened).not.toContainEqual([true, true]);
});
