import { once } from 'node:events';
import { get, request, type IncomingMessage, type Server } from 'node:http';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { createHttpServer } from '../../../../src/edges/evm/rpc/http-server.ts';
import { CallIntake, unreadBounds } from '../../../../src/edges/evm/rpc/intake.ts';
import { createWebSocketServer } from '../../../../src/edges/evm/rpc/websocket-server.ts';
import { listen } from '../../../../src/kit/listen.ts';
import { until } from '../../../support/polling.ts';

type Message = Readonly<{ id?: number; result?: unknown; error?: Readonly<{ code: number }> }>;

const mebibyte = 1024 * 1024;
const position = { host: '127.0.0.1', port: 0, what: 'JSON-RPC', remedy: '' };

/** Serving in which every response is as long as its request wants. */
const longAnswers = () => ({
  dispatch: (text: string) => Promise.resolve('x'.repeat(Number(text))),
  origins: '*' as const,
  intake: new CallIntake(),
  unread: new CallIntake(unreadBounds),
});

async function listening(server: Server): Promise<number> {
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return await listen(server, position);
}

/** Requests a response of some bytes, and reads nothing of it. */
async function unread(port: number, bytes: number): Promise<IncomingMessage> {
  const headers = { 'content-type': 'application/json' };
  const sent = request({ port, host: '127.0.0.1', method: 'POST', headers, agent: false });
  sent.on('error', () => undefined);
  sent.end(String(bytes));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  onTestFinished(() => void response.destroy());
  return response;
}

/** A connection that subscribes to all logs, in one batch. */
async function subscribed(port: number, count: number): Promise<Readonly<{ socket: WebSocket; messages: string[] }>> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`);
  onTestFinished(() => socket.terminate());
  socket.on('error', () => undefined);
  const messages: string[] = [];
  socket.on('message', (data: Buffer) => messages.push(data.toString('utf8')));
  await once(socket, 'open');
  const calls = Array.from({ length: count }, (_, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'eth_subscribe',
    params: ['logs', {}],
  }));
  socket.send(JSON.stringify(calls));
  await until('it is subscribed', () => messages.length === 1);
  return { socket, messages: messages.splice(0) && messages };
}

describe('what nobody reads', () => {
  test('a block of many logs fits into little memory, however many subscriptions to it nobody reads', async () => {
    const program = new URL('notices-thread.ts', import.meta.url);
    const worker = new Worker(program, { resourceLimits: { maxOldGenerationSizeMb: 256 }, execArgv: [] });
    onTestFinished(async () => void (await worker.terminate()));
    const failed = once(worker, 'error').then(([caught]) => Promise.reject(caught as Error));
    const [port] = (await once(worker, 'message')) as [number];
    const reader = await subscribed(port, 1);
    const deaf = await Promise.all(Array.from({ length: 12 }, () => subscribed(port, 100)));
    for (const { socket } of deaf) socket.pause();
    worker.postMessage(10_000, []);
    const all = until('the reader has every log', () => reader.messages.length >= 10_000, 30_000);
    await Promise.race([all, failed]);
    const places = reader.messages.map((one) => /"logIndex":"(0x[0-9a-f]+)"/.exec(one)?.[1]);
    expect(places).toEqual(Array.from({ length: 10_000 }, (_, at) => `0x${at.toString(16)}`));
    for (const { socket } of deaf) socket.resume();
    await until('the others are cut', () => deaf.every(({ socket }) => socket.readyState === WebSocket.CLOSED));
    expect(reader.socket.readyState).toBe(WebSocket.OPEN);
  });

  test('answers that an address leaves unread are bounded, and further ones refused', async () => {
    const port = await listening(createHttpServer(longAnswers()));
    const opened: IncomingMessage[] = [];
    for (let at = 0; at < 6; at += 1) opened.push(await unread(port, 20 * mebibyte));
    expect(opened.map(({ statusCode }) => statusCode)).toEqual(Array.from({ length: 6 }, () => 200));
    const refused = await unread(port, 20 * mebibyte);
    expect(refused.statusCode).toBe(429);
    expect(JSON.parse((await refused.setEncoding('utf8').toArray()).join(''))).toMatchObject({
      error: { code: -32005 },
    });
    let size = 0;
    for await (const piece of opened[0] ?? []) size += (piece as Buffer).length;
    expect(size).toBe(20 * mebibyte);
    await until('there is room again', async () => (await unread(port, 20 * mebibyte)).statusCode === 200);
  });

  test('a client that takes nothing of an answer is cut off', async () => {
    const server = createHttpServer(longAnswers(), 400);
    const port = await listening(server);
    await unread(port, 20 * mebibyte);
    const connections = (): Promise<number> =>
      new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
    expect(await connections()).toBe(1);
    await until('it is cut off', async () => (await connections()) === 0);
    // One that has nothing to take may wait for longer.
    const idle = get({ port, host: '127.0.0.1', headers: { connection: 'keep-alive' } });
    const [response] = (await once(idle, 'response')) as [IncomingMessage];
    expect((await response.toArray()).length).toBe(0);
  });

  test('a ping that is answered while the process stands still counts as answered', async () => {
    const port = await listening(createWebSocketServer(longAnswers(), { silenceMs: 400 }));
    const socket = new WebSocket(`ws://127.0.0.1:${port}`);
    onTestFinished(() => socket.terminate());
    await once(socket, 'open');
    await once(socket, 'ping');
    const still = new Int32Array(new SharedArrayBuffer(4));
    Atomics.wait(still, 0, 0, 1_000);
    await once(socket, 'ping');
    socket.send('3');
    expect(String((await once(socket, 'message'))[0])).toBe('xxx');
    const silent = new WebSocket(`ws://127.0.0.1:${port}`, { autoPong: false });
    expect((await once(silent, 'close'))[0]).toBe(1006);
  });

  test('conditions of subscriptions are bounded, and a notice comes after the answer that names it', async () => {
    const program = new URL('notices-thread.ts', import.meta.url);
    const worker = new Worker(program);
    onTestFinished(async () => void (await worker.terminate()));
    const [port] = (await once(worker, 'message')) as [number];
    const socket = new WebSocket(`ws://127.0.0.1:${port}`);
    onTestFinished(() => socket.terminate());
    const received: unknown[] = [];
    socket.on('message', (data: Buffer) => received.push(JSON.parse(data.toString('utf8'))));
    await once(socket, 'open');
    let id = 0;
    const subscribe = async (...params: unknown[]): Promise<Message> => {
      const own = (id += 1);
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: own, method: 'eth_subscribe', params }));
      return await until('it is answered', () => (received as Message[]).find((one) => one.id === own));
    };
    const hashes = (count: number) => ({
      transactionHashes: Array.from({ length: count }, () => `0x${'11'.repeat(32)}`),
    });
    expect((await subscribe('transactionReceipts', hashes(1_001))).error?.code).toBe(-32602);
    const values = Array.from({ length: 1_000 }, () => `0x${'22'.repeat(32)}`);
    const long = { topics: [values, values, values, values] };
    let taken = 0;
    for (let at = 0; at < 90 && (await subscribe('logs', long)).error === undefined; at += 1) taken += 1;
    expect(taken).toBe(55);
    expect((await subscribe('logs', long)).error?.code).toBe(-32005);
    const before = received.length;
    const many = Array.from({ length: 20 }, (_, at) => ({
      jsonrpc: '2.0',
      id: at,
      method: 'eth_subscribe',
      params: ['syncing'],
    }));
    socket.send(JSON.stringify(many));
    await until('all have come', () => received.length === before + 21);
    expect(Array.isArray(received[before])).toBe(true);
  });
});
