import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { type OwnTime, type Pace, withPace } from '../../../src/edges/gateway/intake/pace.ts';

/** What becomes of a body of which a few bytes come every 20 ms. */
async function outcomeOf(
  pace: Pace,
  bytes: number,
  { ownWork, waits }: { ownWork?: () => Promise<unknown>; waits?: (left: number) => boolean } = {},
): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const server = createServer((request: IncomingMessage) => {
    const read = async (ownTime: OwnTime): Promise<string> => {
      if (ownWork) await ownTime(ownWork());
      return await buffer(request).then(() => 'all of it');
    };
    void withPace(request, pace, read).then(resolve, (caught: unknown) => resolve(String(caught)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sending = httpRequest({ port: (server.address() as AddressInfo).port, method: 'POST' });
  sending.on('error', () => undefined);
  let left = 20;
  const drip = setInterval(() => {
    if (waits?.(left) === true) return;
    left -= 1;
    if (left >= 0) sending.write('x'.repeat(bytes));
    else sending.end();
  }, 20);
  const outcome = await promise;
  clearInterval(drip);
  sending.destroy();
  server.close();
  return outcome;
}

it('a body that comes with less than so many bytes a second is given up', { tags: ['S3.upload.rate'] }, async () => {
  const pace = { stallMs: 10_000, minRate: 1_000_000, windowMs: 100 };
  expect(await outcomeOf(pace, 100)).toContain('less than 1000000 bytes a second');
  expect(await outcomeOf({ ...pace, minRate: 10 }, 1_000)).toBe('all of it');
});

it('time that our own work takes is not the sender’s', { tags: ['S3.upload.chain'] }, async () => {
  const pace = { stallMs: 100, minRate: 10, windowMs: 100 };
  const { promise, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve, 400);
  expect(await outcomeOf(pace, 1_000, { ownWork: async () => await promise })).toBe('all of it');
});

it.each([150, 260])(
  'a time in which the process stood still after %i of 300 ms is not the sender’s',
  { tags: ['S3.upload.rate'] },
  async (silentMs) => {
    const pace = { stallMs: 300, minRate: 10, windowMs: 300 };
    let isOver = false;
    let standing: NodeJS.Timeout | undefined;
    // A while after the last byte, so that it has been seen.
    const waits = (left: number): boolean => {
      if (left !== 10 || isOver) return false;
      standing ??= setTimeout(() => {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 900);
        isOver = true;
      }, silentMs);
      return true;
    };
    expect(await outcomeOf(pace, 1_000, { waits })).toBe('all of it');
  },
);
