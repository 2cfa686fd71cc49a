import { once } from 'node:events';
import { connect } from 'node:net';
import { Code } from '@connectrpc/connect';
import { multiaddr } from '@multiformats/multiaddr';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RealNode } from '../../../../src/edges/local-network/cast.ts';
import type { PeerHost } from '../../../../src/edges/node/peers/host.ts';
import { createNode } from '../../../../src/edges/node/peers/libp2p-node.ts';
import { until } from '../../../support/polling.ts';
import { bytesOf, downloaded, pendingAction, upload } from '../files-under-test.ts';
import { type NetworkUnderTest, networkUnderTest, ports, type StoringNode } from '../network-under-test.ts';
import { askBoth } from './besiege.ts';
import { drippingUpload, healthWatch, openReflection, strangersSession, unreadDownload } from './strangers.ts';

const undo = new AsyncDisposableStack();
const storageBytes = 16 * 2 ** 20;
const mebibyte = bytesOf('m', 2 ** 20);
let world: NetworkUnderTest;
let node: StoringNode;
let peer: PeerHost;
const strangersAt = (index: number): string => `127.77.0.${index + 1}`;

/** A node of two, and the other one as the test has it ask; calls end after three seconds without a byte. */
beforeAll(async () => {
  world = await networkUnderTest(undo, 2);
  const [own, other] = world.cast as [RealNode, RealNode];
  peer = await world.impersonate(other, async () => ({ done: true }));
  const limits = { silenceMs: 3_000, idleMs: 500 };
  node = await world.start(own, undefined, { storageBytes, repairEachMs: 60_000 }, limits);
});
afterAll(() => undo.disposeAsync());

const grpcPort = () => ({ host: node.host, port: node.ports.grpc });

async function isAnsweredAsPeer(): Promise<boolean> {
  const [own] = world.cast as [RealNode];
  const at = { account: own.account.account, ip: own.host, port: ports.p2p, isActive: true };
  return (await peer.ask(at, { case: 'missing', value: { names: ['a'.repeat(64)] } })).done;
}

/** On a busy machine its connection may just be made anew. */
const answeredAsPeer = async (): Promise<unknown> =>
  await until('a listed node is answered', async () => await isAnsweredAsPeer().catch(() => false));

describe('strangers with uploads that have no end', () => {
  it('keep nobody from a store', { tags: ['S1.hostile.drafts'] }, async () => {
    const file = bytesOf('u', 3_500_000);
    const actionId = await pendingAction(world.ledger, file);
    const calls = await Promise.all(
      Array.from({ length: 16 }, async (_, index) => {
        const session = await strangersSession(grpcPort(), strangersAt(index));
        undo.defer(() => session.destroy());
        return drippingUpload(session, mebibyte, 100);
      }),
    );
    await until('they hold what they can', async () => (await node.observe()).storedBytes > 0);
    await upload(node.grpc, actionId, file);
    expect((await downloaded(node.grpc, actionId)).bytes.equals(file)).toBe(true);
    await Promise.all(calls.map(async ({ ended }) => await ended));
    await askBoth(node);
  });

  it('have a few of them at once', { tags: ['S1.hostile.calls'] }, async () => {
    const session = await strangersSession(grpcPort(), strangersAt(0));
    const calls = Array.from({ length: 12 }, () => drippingUpload(session, mebibyte.subarray(0, 1_000), 100));
    await until('those beyond are refused', () => calls.filter((call) => !call.isOpen()).length >= 4);
    expect(calls.flatMap((call) => call.grpcStatus() ?? [])).toContain(Code.ResourceExhausted);
    session.destroy();
  });
});

it('downloads that nobody reads end, and are few at once', { tags: ['S1.hostile.calls'] }, async () => {
  const file = bytesOf('d', 3_000_000);
  const actionId = await pendingAction(world.ledger, file);
  await upload(node.grpc, actionId, file);
  const session = await strangersSession(grpcPort(), strangersAt(0), 0);
  const calls = Array.from({ length: 20 }, () => unreadDownload(session, actionId));
  expect((await downloaded(node.grpc, actionId)).bytes.equals(file)).toBe(true);
  await Promise.all(calls.map(async ({ ended }) => await ended));
  session.destroy();
});

/** Waits until a call of the first stranger is let in: its calls before have left room. */
async function untilThereIsRoom(open: typeof healthWatch): Promise<void> {
  const session = await strangersSession(grpcPort(), strangersAt(0));
  await until('whoever has gone leaves room', async () => {
    const call = open(session);
    await askBoth(node);
    return call.isOpen();
  });
  session.destroy();
}

it('watches of health last, and are few of one address', { tags: ['S1.hostile.calls'] }, async () => {
  const session = await strangersSession(grpcPort(), strangersAt(0));
  const calls = Array.from({ length: 100 }, () => healthWatch(session));
  await until('those beyond are refused', () => calls.filter((call) => !call.isOpen()).length >= 84);
  expect(calls.filter((call) => call.isOpen()).length).toBe(16);
  expect(new Set(calls.flatMap((call) => call.grpcStatus() ?? []))).toEqual(new Set([Code.ResourceExhausted]));
  const other = await strangersSession(grpcPort(), strangersAt(1));
  const others = Array.from({ length: 17 }, () => healthWatch(other));
  await until('another address has as many', () => others.filter((call) => !call.isOpen()).length === 1);
  session.destroy();
  other.destroy();
  await untilThereIsRoom(healthWatch);
});

it('streams of reflection are few of one address', { tags: ['S1.hostile.calls'] }, async () => {
  const session = await strangersSession(grpcPort(), strangersAt(0));
  const calls = Array.from({ length: 100 }, () => openReflection(session));
  const refused = (): number => calls.filter((call) => call.grpcStatus() === Code.ResourceExhausted).length;
  await until('those beyond are refused', () => refused() === 36);
  session.destroy();
  await untilThereIsRoom(openReflection);
});

it('connections without a call end, and one address has a few', { tags: ['S1.hostile.connections'] }, async () => {
  const sessions = await Promise.all(
    Array.from({ length: 100 }, async () => await strangersSession(grpcPort(), strangersAt(0))),
  );
  expect(sessions.filter(({ destroyed }) => destroyed).length).toBeGreaterThanOrEqual(100 - 64);
  await askBoth(node);
  await until('the idle ones end', () => sessions.every(({ destroyed }) => destroyed));
});

describe('strangers among the peers', () => {
  it('hold a few connections for as long as a handshake may take', { tags: ['S1.hostile.peers'] }, async () => {
    const to = multiaddr(`/ip4/${node.host}/tcp/${node.ports.p2p}`);
    const held = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const stranger = await createNode(
          { host: strangersAt(index), port: 0, what: 'a test', remedy: '' },
          { handshakeMs: 5_000, connections: 200 },
        );
        await stranger.start();
        undo.defer(async () => await stranger.stop());
        const dials = Array.from({ length: 12 }, () => stranger.dial(to, { force: true }));
        return (await Promise.allSettled(dials)).flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      }),
    );
    expect(held.flat().filter(({ status }) => status === 'open').length).toBeLessThanOrEqual(64);
    await answeredAsPeer();
    await askBoth(node);
    await until('all of them end', () => held.flat().every(({ status }) => status !== 'open'));
    await answeredAsPeer();
  });

  it(
    'may announce four KiB, on one stream, before they have proven an account',
    { tags: ['S1.hostile.peers'] },
    async () => {
      const place = { host: strangersAt(0), port: 0, what: 'a test', remedy: '' };
      const stranger = await createNode(place, { handshakeMs: 60_000, connections: 10 });
      await stranger.start();
      undo.defer(async () => await stranger.stop());
      const connection = await stranger.dial(multiaddr(`/ip4/${node.host}/tcp/${node.ports.p2p}`));
      const announced = async (length: number) => {
        const stream = await connection.newStream('/annals/pieces/1.0.0');
        const prefix = Buffer.alloc(4);
        prefix.writeUInt32BE(length);
        // A stream that the node refuses may be closed by now.
        if (stream.status === 'open') stream.send(prefix);
        return stream;
      };
      // Only the announcement is sent: the node does not wait for what it would not read.
      const long = await announced(4_097);
      await until('a longer message is refused', () => long.status !== 'open');
      const short = await announced(4_096);
      const second = await announced(4_096);
      await until('a stream beside the first is refused', () => second.status !== 'open');
      expect([short.status, connection.status]).toEqual(['open', 'open']);
    },
  );

  it('with half a handshake stop no listed node', { tags: ['S1.hostile.peers'] }, async () => {
    const sockets = Array.from({ length: 200 }, (_, index) =>
      connect({ host: node.host, port: node.ports.p2p, localAddress: strangersAt(index % 50) }),
    );
    for (const socket of sockets) socket.on('error', () => undefined);
    await Promise.all(
      sockets.map(async (socket) => await Promise.race([once(socket, 'connect'), once(socket, 'close')])),
    );
    await answeredAsPeer();
    for (const socket of sockets) socket.destroy();
  });
});
