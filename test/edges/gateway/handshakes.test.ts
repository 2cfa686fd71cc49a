import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { accountOf, publicKeyOf } from '../../../src/edges/cosmos/keys.ts';
import type * as connection from '../../../src/edges/gateway/nodes/connection.ts';
import { connectNats } from '../../../src/edges/log/connection.ts';
import { createLeases } from '../../../src/edges/log/leases.ts';
import { freshNetwork, testNats } from '../../support/servers.ts';
import { creatorKey } from './gateway-under-test.ts';

type Connection = typeof connection;

const path = '../../../src/edges/gateway/nodes/connection.ts';
const account = accountOf(publicKeyOf({ ...creatorKey, type: 'secp256k1' }));

/** Connects as a process of its own would, which knows nothing of the turns of another. */
async function otherProcess(): Promise<Connection> {
  vi.resetModules();
  return (await import(path)) as Connection;
}

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
  const refused = async () => {
    const { connectNode } = await otherProcess();
    const leases = createLeases(nc, network, { ttlMs: 30_000 });
    const key = async () => await Promise.resolve(creatorKey);
    const dialling = { key, leases };
    return async () => await connectNode({ account, ip: '127.0.0.1', port }, dialling, signal);
  };
  const gateways = [await refused(), await refused(), await refused()];
  const outcomes = await Promise.allSettled(gateways.flatMap((connect) => [connect(), connect()]));
  expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => 'rejected'));
  expect([seen.all, seen.most]).toEqual([6, 1]);
});
