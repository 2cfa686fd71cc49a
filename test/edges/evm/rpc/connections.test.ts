import { once } from 'node:events';
import { afterAll, expect, test } from 'vitest';
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

/** Connects and sends; gives the connection and its answer, or the code that it was closed with. */
async function connected(url: string): Promise<readonly [WebSocket, string | number]> {
  const socket = new WebSocket(url);
  opened.push(socket);
  const result = Promise.race([
    once(socket, 'message').then(([data]) => String(data)),
    once(socket, 'close').then(([code]) => Number(code)),
  ]);
  await once(socket, 'open');
  socket.send('x');
  return [socket, await result];
}

test(
  '1,024 connections over WebSocket are served, and one more once one has gone',
  { tags: ['S1.evm.caps'] },
  async () => {
    const port = await listen(server, { host: '127.0.0.1', port: 0, what: 'JSON-RPC over WebSocket', remedy: '' });
    const url = `ws://127.0.0.1:${port}`;
    for (let at = 0; at < 16; at += 1) {
      const some = await Promise.all(Array.from({ length: 64 }, async () => await connected(url)));
      expect(new Set(some.map(([, answer]) => answer))).toEqual(new Set(['answer to x']));
    }
    const [refused, code] = await connected(url);
    expect(code).toBe(1013);
    expect(refused.readyState).toBe(WebSocket.CLOSED);
    opened[500]?.close();
    await until('there is room again', async () => (await connected(url))[1] === 'answer to x');
  },
);
