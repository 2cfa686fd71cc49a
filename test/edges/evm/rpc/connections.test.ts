import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { CallIntake, unreadBounds } from '../../../../src/edges/evm/rpc/intake.ts';
import { createWebSocketServer } from '../../../../src/edges/evm/rpc/websocket-server.ts';
import { listen } from '../../../../src/kit/listen.ts';
import { until } from '../../../support/polling.ts';

const server = createWebSocketServer({
  dispatch: (text) => Promise.resolve(`answer to ${text}`),
  origins: '*',
  intake: new CallIntake(),
  unread: new CallIntake(unreadBounds),
});
const opened: WebSocket[] = [];
afterAll(() => {
  for (const socket of opened) socket.terminate();
  server.close();
});

let url = '';
beforeAll(async () => {
  const port = await listen(server, { host: '127.0.0.1', port: 0, what: 'JSON-RPC over WebSocket', remedy: '' });
  url = `ws://127.0.0.1:${port}`;
});

/** Connects from an address and sends; gives the connection and its answer, or the code that it was closed with. */
async function connected(localAddress: string): Promise<readonly [WebSocket, string | number]> {
  const socket = new WebSocket(url, { localAddress });
  opened.push(socket);
  const result = Promise.race([
    once(socket, 'message').then(([data]) => String(data)),
    once(socket, 'close').then(([code]) => Number(code)),
  ]);
  await once(socket, 'open');
  socket.send('x');
  return [socket, await result];
}

async function fill(address: string): Promise<ReadonlySet<string | number>> {
  const answers = new Set<string | number>();
  for (let at = 0; at < 4; at += 1)
    for (const [, answer] of await Promise.all(Array.from({ length: 64 }, async () => await connected(address))))
      answers.add(answer);
  return answers;
}

test('one address has 256 connections over WebSocket, and leaves the rest to others', async () => {
  expect(await fill('127.0.0.1')).toEqual(new Set(['answer to x']));
  const [refused, code] = await connected('127.0.0.1');
  expect(code).toBe(1013);
  expect(refused.readyState).toBe(WebSocket.CLOSED);
  expect((await connected('127.0.0.2'))[1]).toBe('answer to x');
  opened[100]?.close();
  await until('there is room again', async () => (await connected('127.0.0.1'))[1] === 'answer to x');
  opened.splice(0).forEach((socket) => socket.terminate());
});

test(
  '1,024 connections over WebSocket are served, and one more once one has gone',
  { tags: ['S1.evm.caps'] },
  async () => {
    for (const address of ['127.0.0.11', '127.0.0.12', '127.0.0.13', '127.0.0.14'])
      expect(await fill(address)).toEqual(new Set(['answer to x']));
    expect((await connected('127.0.0.15'))[1]).toBe(1013);
    opened[500]?.close();
    await until('there is room again', async () => (await connected('127.0.0.15'))[1] === 'answer to x');
  },
);
