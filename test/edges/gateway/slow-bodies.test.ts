import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import { limitConnections } from '../../../src/kit/connection-limits.ts';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freezeDisk } from '../../support/programs/frozen-disk.ts';
import { actionOver, type GatewayChanges, type GatewayUnderTest, gatewayUnderTest } from './gateway-under-test.ts';
import { formOf, post, signatureOf } from './uploading.ts';

async function start(changes: GatewayChanges = {}): Promise<GatewayUnderTest> {
  const gateway = await gatewayUnderTest(changes);
  onTestFinished(async () => await gateway[Symbol.asyncDispose]());
  return gateway;
}

/** A connection that a request's head is sent over, and a byte of its body now and then; what it got until its end. */
async function dripping({ url }: GatewayUnderTest, route: string, type: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined);
  let told = '';
  socket.on('data', (part) => (told += part.toString()));
  socket.write(`POST ${route} HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nContent-Length: 100\r\n\r\n{`);
  const drip = setInterval(() => socket.write(' '), 20);
  await new Promise((resolve) => socket.once('close', resolve));
  clearInterval(drip);
  return told;
}

const download = '/api/v1/actions/cascade/7/downloads?public=true';

it('a JSON body that drips is answered with 408 and its connection ends', { tags: ['S3.limits.bodies'] }, async () => {
  const gateway = await start({ bodyWithinMs: 200 });
  const told = await dripping(gateway, download, 'application/json');
  expect(told).toMatch(/^HTTP\/1\.1 408 [^]*connection: close[^]*"code":"REQUEST_TIMEOUT"/i);
});

it(
  'what is answered before its body has come ends the connection, also where nothing lies',
  { tags: ['S3.limits.bodies'] },
  async () => {
    const gateway = await start({ bodyWithinMs: 200 });
    expect(await dripping(gateway, '/nothing', 'application/json')).toMatch(/^HTTP\/1\.1 (404|408) /);
    const other = await dripping(gateway, download, 'text/plain');
    expect(other).toMatch(/^HTTP\/1\.1 415 [^]*connection: close/i);
  },
);

it('a form may drip as long as it comes fast enough', { tags: ['S3.limits.bodies'] }, async () => {
  const gateway = await start({ bodyWithinMs: 100, settings: { uploadStallTimeoutMs: 1_000, uploadMinRate: 1 } });
  const told = await dripping(gateway, '/api/v1/actions/cascade', 'multipart/form-data; boundary=b');
  // All of the declared bytes have come then; they are no form.
  expect(told).toMatch(/^HTTP\/1\.1 400 /);
});

it(
  'a chain that does not answer is 503, however long the form waits for it',
  { tags: ['S3.upload.chain'] },
  async () => {
    const unavailable = new AppError('UNAVAILABLE', 'The chain cannot be asked: no answer within 10 s');
    const { promise, reject } = Promise.withResolvers<never>();
    const settings = { uploadStallTimeoutMs: 400 };
    const gateway = await start({ settings, chain: { action: async () => await promise } });
    // A busy machine may reach the question only once it has failed.
    promise.catch(() => undefined);
    setTimeout(() => reject(unavailable), 1_000);
    const action = await actionOver(Buffer.from('bytes'));
    const answer = await post(
      gateway.url,
      formOf({ action_id: '7', signature: signatureOf(action), file: new Uint8Array(3_000_000) }),
    );
    expect([answer.status, answer.code, answer.headers.has('retry-after')]).toEqual([503, 'UNAVAILABLE', true]);
    expect(answer.error).toContain('The chain cannot be asked');
  },
);

it('a form is not given up while the disk gives no answer', { tags: ['S3.disk.ours'] }, async () => {
  const settings = { uploadStallTimeoutMs: 300 };
  const bytes = randomBytes(3_000_000);
  const action = await actionOver(bytes);
  const freeze = async () => {
    const thaw = freezeDisk();
    onTestFinished(thaw);
    setTimeout(thaw, 1_200);
    return await Promise.resolve(action);
  };
  const looks = [freeze];
  const gateway = await start({
    settings,
    chain: { action: async () => await (looks.shift()?.() ?? Promise.resolve(action)) },
  });
  // Behind the file the signature reserves no room, so that the file is the first that the disk is needed for.
  const form = formOf({ action_id: '7', file: bytes, signature: signatureOf(action) });
  expect((await post(gateway.url, form)).status).toBe(202);
});

it('a body is not cut off for a time in which the process stood still', { tags: ['S3.limits.bodies'] }, async () => {
  const gateway = await start({ bodyWithinMs: 300 });
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const head = `POST ${download} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n`;
  socket.write(`${head}{`);
  const standStill = (): void => {
    socket.write('}');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 900);
  };
  // In the phase after which a loop runs its timers before it reads.
  setTimeout(() => setImmediate(standStill), 150);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 404 /);
});

it('connections are bounded, in all and of one address', { tags: ['S3.limits.bodies'] }, async () => {
  const server = createServer((_request, response) => response.end()).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const open: Socket[] = [];
  onTestFinished(() => open.forEach((socket) => socket.destroy()));
  const alive = async (from: string): Promise<boolean> => {
    const { port } = server.address() as AddressInfo;
    const socket = connect({ port, host: '127.0.0.1', localAddress: from }).on('error', () => undefined);
    open.push(socket);
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    const [name] = await Promise.race([
      once(socket, 'data').then(() => ['data']),
      once(socket, 'close').then(() => ['close']),
    ]);
    return name === 'data';
  };
  limitConnections(server, { most: 5, mostPerAddress: 2, trustedProxies: ['127.0.0.9'] });
  expect([await alive('127.0.0.1'), await alive('127.0.0.1'), await alive('127.0.0.1')]).toEqual([true, true, false]);
  expect(await alive('127.0.0.2')).toBe(true);
  expect([await alive('127.0.0.9'), await alive('127.0.0.9'), await alive('127.0.0.9')]).toEqual([true, true, false]);
  open.shift()?.destroy();
  await expect.poll(async () => await alive('127.0.0.1')).toBe(true);
});

it(
  'the servers of a process leave a share of its descriptors to stores and files',
  { tags: ['S3.limits.bodies'] },
  async () => {
    const budget = { open: 0, most: 2 };
    const servers = [0, 1].map(() => createServer((_request, response) => response.end()).listen(0, '127.0.0.1'));
    onTestFinished(() => servers.forEach((server) => server.closeAllConnections()));
    onTestFinished(() => servers.forEach((server) => void server.close()));
    const limits = { most: 9, mostPerAddress: 9, trustedProxies: ['127.0.0.9'] };
    for (const server of servers) limitConnections(server, limits, budget);
    const open: Socket[] = [];
    onTestFinished(() => open.forEach((socket) => socket.destroy()));
    const alive = async (server: (typeof servers)[number], from: string): Promise<boolean> => {
      if (!server.listening) await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const socket = connect({ port, host: '127.0.0.1', localAddress: from }).on('error', () => undefined);
      open.push(socket);
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      const ends = [once(socket, 'data').then(() => true), once(socket, 'close').then(() => false)];
      return await Promise.race(ends);
    };
    const [one, other] = servers;
    if (!one || !other) throw new Error('There are two');
    expect([await alive(one, '127.0.0.1'), await alive(other, '127.0.0.9')]).toEqual([true, true]);
    expect([await alive(one, '127.0.0.2'), await alive(other, '127.0.0.9')]).toEqual([false, false]);
    open.shift()?.destroy();
    await expect.poll(async () => await alive(other, '127.0.0.2')).toBe(true);
  },
);
