import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkAddress, guardedLookup } from '../../../src/edges/hooks/addresses.ts';
import { createSender } from '../../../src/edges/hooks/sender.ts';
import { startReceiver } from './receiver.ts';

const strict = { allowPrivate: false };
const forbidden = [
  '127.0.0.1',
  '127.1',
  '0x7f.0.0.1',
  '2130706433',
  '10.1.2.3',
  '192.168.0.1',
  '169.254.169.254',
  '100.64.0.1',
  '0.0.0.0',
  '224.0.0.1',
  '[::1]',
  '[fe80::1]',
  '[fc00::1]',
  '[::ffff:127.0.0.1]',
  '[64:ff9b::7f00:1]',
  'localhost',
];

/** A receiver that answers every connection with the same bytes, and never ends one. */
async function rawReceiver(answer: string): Promise<string> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined).once('data', () => socket.write(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

describe('addresses of webhooks', () => {
  it.each(forbidden)('http://%s/ is refused at registration', async (host) => {
    await expect(checkAddress(`http://${host}:8080/`, strict)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('are accepted where they are public, or private ones are allowed', async () => {
    await checkAddress('https://203.0.114.7/events?token=1', strict);
    await checkAddress('http://127.0.0.1:8080/', { allowPrivate: true });
    await expect(checkAddress('http://169.254.169.254/', { allowPrivate: true })).rejects.toThrow('public');
  });

  it('of one host do not wait for one another', async () => {
    const receiver = await startReceiver();
    receiver.answer(({ event: { id } }) => (id === 'held' ? undefined : { status: 204 }));
    const sender = createSender({ allowPrivate: true, version: 'test', withinMs: 5_000 });
    const { signal } = new AbortController();
    const send = (id: string) =>
      sender.send({ url: `${receiver.url}/${id}`, headers: {}, body: Buffer.from(JSON.stringify({ id })) }, signal);
    const held = Array.from({ length: 32 }, async () => await send('held'));
    await expect.poll(() => receiver.received.length).toBeGreaterThanOrEqual(16);
    expect(await send('free')).toMatchObject({ outcome: 'acknowledged' });
    await sender.close();
    await Promise.all(held);
  });

  it('are checked again by every connection, after the name was looked up', async () => {
    const receiver = await startReceiver();
    const port = new URL(receiver.url).port;
    const sender = createSender({ ...strict, version: 'test' });
    const message = { headers: {}, body: Buffer.from('{}') };
    const { signal } = new AbortController();
    for (const host of ['127.0.0.1', 'localhost'])
      expect(await sender.send({ ...message, url: `http://${host}:${port}/` }, signal)).toMatchObject({
        outcome: 'failed',
        reason: `${host} is not at a public address`,
      });
    expect(receiver.received).toEqual([]);
    await sender.close();
  });

  it('lead only to those addresses of a name that may be dialled', async () => {
    const known = await lookup('localhost', { all: true });
    const found = await new Promise((resolve, reject) => {
      guardedLookup({ allowPrivate: true })('localhost', { all: true }, (error, addresses) =>
        error ? reject(error) : resolve(addresses),
      );
    });
    expect(found).toEqual(known);
  });

  it('acknowledge by their status, whatever becomes of the body', async () => {
    const url = await rawReceiver('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nnever whole');
    const sender = createSender({ allowPrivate: true, version: 'test', withinMs: 600_000 });
    const { signal } = new AbortController();
    const attempt = await sender.send({ url, headers: {}, body: Buffer.from('{}') }, signal);
    expect(attempt).toEqual({ outcome: 'acknowledged', status: 200 });
    await sender.close();
  });

  it.each([
    ['nothing of the kind\r\n\r\n', 'the answer is no HTTP'],
    [`HTTP/1.1 200 OK\r\nlong: ${'x'.repeat(20_000)}\r\n\r\n`, 'the answer has headers of more than 16384 bytes'],
  ])('are told apart by what they answer: %#', async (answer, reason) => {
    const url = await rawReceiver(answer);
    const sender = createSender({ allowPrivate: true, version: 'test' });
    const { signal } = new AbortController();
    const attempt = await sender.send({ url, headers: {}, body: Buffer.from('{}') }, signal);
    expect(attempt).toMatchObject({ outcome: 'failed', reason });
    await sender.close();
  });

  it('end an attempt that is not answered in time', async () => {
    const receiver = await startReceiver();
    receiver.answer(() => undefined);
    const sender = createSender({ allowPrivate: true, version: 'test', withinMs: 200 });
    const { signal } = new AbortController();
    const attempt = await sender.send({ url: receiver.url, headers: {}, body: Buffer.from('{}') }, signal);
    expect(attempt).toMatchObject({ outcome: 'failed', reason: 'no answer within 0.2 s' });
    await sender.close();
  });
});
