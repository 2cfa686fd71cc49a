import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { accountOf, publicKeyOf } from '../../../src/edges/chain/sign/keys.ts';
import { connectNode } from '../../../src/edges/gateway/nodes/connection.ts';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { createLeases } from '../../../src/engine/log/leases.ts';
import { freshNetwork, testNats } from '../../support/programs/servers.ts';
import { creatorKey } from './gateway-under-test.ts';

const account = accountOf(publicKeyOf({ ...creatorKey, type: 'secp256k1' }));

/** A node that takes connections and hangs up at the first bytes; counts how many there are at once. */
async function hangingUp() {
  const seen = { now: 0, most: 0, all: 0 };
  const server = createServer((socket) => {
    seen.now += 1;
    seen.all += 1;
    seen.most = Math.max(seen.most, seen.now);
    // What another process does meanwhile has several turns of this loop to come in between.
    socket.once('data', () => setImmediate(() => setImmediate(hangUp)));
    socket.on('error', () => undefined);
    // Counted before the caller can know of it: what comes next comes after.
    const hangUp = (): void => {
      seen.now -= 1;
      socket.end();
    };
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { seen, port: (server.address() as AddressInfo).port };
}

it('gateways of one key shake hands with a node one after another', { tags: ['S3.two.handshakes'] }, async () => {
  const { seen, port } = await hangingUp();
  const network = freshNetwork();
  const nc = await connectNats({ ...testNats(), name: 'handshakes test' });
  onTestFinished(async () => await nc.close());
  const signal = new AbortController().signal;
  const refused = () => {
    const leases = createLeases(nc, network, { ttlMs: 30_000 });
    const key = async () => await Promise.resolve(creatorKey);
    const dialling = { key, leases, handshakes: new Map() };
    return async () => await connectNode({ account, ip: '127.0.0.1', port }, dialling, signal);
  };
  const gateways = [refused(), refused(), refused()];
  const outcomes = await Promise.allSettled(gateways.flatMap((connect) => [connect(), connect()]));
  expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => 'rejected'));
  expect([seen.all, seen.most]).toEqual([6, 1]);
});

it('a gateway of more than a thousand nodes shakes hands with one of them one after another', async () => {
  const { seen, port } = await hangingUp();
  const dialling = { key: async () => await Promise.resolve(creatorKey), handshakes: new Map() };
  const connecting = async (to: string, signal: AbortSignal) =>
    await connectNode({ account: to, ip: '127.0.0.1', port }, dialling, signal);
  const open = new AbortController().signal;
  const first = connecting(account, open);
  const others = Array.from({ length: 1_001 }, (_, index) => connecting(`other ${index}`, AbortSignal.abort()));
  const outcomes = await Promise.allSettled([first, connecting(account, open), ...others]);
  expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => 'rejected'));
  expect([seen.all, seen.most]).toEqual([2, 1]);
  expect(dialling.handshakes.size).toBe(0);
});
