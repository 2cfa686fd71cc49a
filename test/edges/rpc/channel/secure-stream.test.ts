import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { SecureStream } from '../../../../src/edges/rpc/channel/secure-stream.ts';

it('bytes arrive as they were written, however many parts wait for each other', async () => {
  const keys = { key: randomBytes(32), mask: randomBytes(24) };
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const arrived = once(server, 'connection');
  const near = new SecureStream(connect((server.address() as AddressInfo).port, '127.0.0.1'), keys, 'client');
  const far = new SecureStream(((await arrived) as [Socket])[0], keys, 'server');
  const parts = [9, 16_384, 1, 300_000, 245_760, 245_761, 0, 9, 1_500_000, 7].map((size) => randomBytes(size));
  const read = buffer(far);
  // The first leaves alone, the others wait for it and leave together; then each leaves alone.
  for (const part of parts) near.write(part);
  for (const part of parts) await new Promise((done) => near.write(part, done));
  near.end();
  expect((await read).equals(Buffer.concat([...parts, ...parts]))).toBe(true);
});
