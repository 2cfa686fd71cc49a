import { once } from 'node:events';
import { connect } from 'node:net';
import { createClient } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accountOf, type PrivateKey, publicKeyOf } from '../../../src/edges/chain/sign/keys.ts';
import { dialChannel } from '../../../src/edges/rpc/channel/dial-channel.ts';
import { Health } from '../../../src/edges/gen/grpc/health/v1/health_pb.ts';
import { SupernodeService } from '../../../src/edges/gen/supernode/supernode_pb.ts';
import { developmentAccounts } from '../../../src/edges/local-network/development-accounts.ts';
import { type Caller, dialSecurely, secureTransport } from '../../support/callers/secure-channel-client.ts';
import { cast, freshLog, playHistory, startLedger } from '../ledger/ledger-under-test.ts';
import { type NodeUnderTest, nodeUnderTest } from './node-under-test.ts';

let node: NodeUnderTest;
const closers: (() => PromiseLike<void>)[] = [];
beforeAll(async () => {
  const fresh = await freshLog();
  const ledger = await startLedger(fresh.log);
  await playHistory(ledger);
  node = await nodeUnderTest({ chainUrl: ledger.url });
  closers.push(
    () => node[Symbol.asyncDispose](),
    () => ledger[Symbol.asyncDispose](),
    () => fresh[Symbol.asyncDispose](),
  );
});
afterAll(async () => {
  for (const close of closers) await close();
});

const stranger: PrivateKey = { type: 'eth_secp256k1', bytes: new Uint8Array(32).fill(77) };
const guests = developmentAccounts().map(({ key }) => key);
const [guest = stranger] = guests;
const nodeAccount = cast.nodes[1]?.accounts[0].key ?? stranger;
const at = () => ({ host: node.host, port: node.ports.grpc });

async function version(caller: Caller): Promise<string> {
  const { stream } = await dialSecurely(at(), caller);
  try {
    const client = createClient(SupernodeService, secureTransport(stream));
    return (await client.getStatus({})).version;
  } finally {
    stream.destroy();
  }
}

describe('the secure channel', () => {
  it(
    'tells its status and health to accounts that the chain knows, of both key types',
    { tags: ['S1.channel'] },
    async () => {
      expect(new Set(guests.map(({ type }) => type)).size).toBe(2);
      for (const key of guests.slice(0, 4)) expect(await version({ key })).toBe('v1.2.3');
      const { stream, server } = await dialSecurely(at(), { key: guest });
      expect(server).toMatchObject({ type: 'superNode', address: 'lumera1rfjz7r3u8t65teavh5utquj3kwvsj983mrr6xz' });
      expect(await createClient(Health, secureTransport(stream)).check({})).toMatchObject({ status: 1 });
      stream.destroy();
    },
  );

  it(
    'is open to another SuperNode under its account, and to nobody who only says so',
    { tags: ['S1.channel'] },
    async () => {
      expect(await version({ key: nodeAccount, type: 'superNode' })).toBe('v1.2.3');
      await expect(version({ key: guest, type: 'superNode' })).rejects.toThrow('ended within its handshake');
    },
  );

  it(
    'is closed to an account that the chain does not know, and to hellos that do not hold, without a byte',
    { tags: ['S1.channel'] },
    async () => {
      await expect(version({ key: stranger })).rejects.toThrow('ended within its handshake');
      const spoil: Caller['spoil'] = ({ hello, signature }) => ({
        hello,
        signature: signature.map((byte) => byte ^ 1),
      });
      await expect(version({ key: guest, spoil })).rejects.toThrow('ended within its handshake');
      for (const bytes of ['00000000', '00ffffff', '00000005ffffffffff00000001aa']) {
        const socket = connect(at());
        socket.write(Buffer.from(bytes, 'hex'));
        const received: Buffer[] = [];
        socket.on('data', (chunk: Buffer) => received.push(chunk)).on('error', () => undefined);
        await once(socket, 'close');
        expect(received).toEqual([]);
      }
    },
  );

  it('is left by who finds another account there than the chain names', { tags: ['S3.nodes.identity'] }, async () => {
    const dial = async (account: string) =>
      await dialChannel({ ...at(), account }, guest, new AbortController().signal);
    (await dial('lumera1rfjz7r3u8t65teavh5utquj3kwvsj983mrr6xz')).destroy();
    const other = accountOf(publicKeyOf(stranger));
    await expect(dial(other)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  });

  it('serves many handshakes of one account at once, while a hundred others stay half open', async () => {
    const half = Array.from({ length: 100 }, (_, index) =>
      connect({ ...at(), localAddress: `127.0.0.${2 + (index % 4)}` }),
    );
    await Promise.all(half.map((socket) => once(socket, 'connect')));
    for (const socket of half) socket.write(Buffer.from([0, 0, 0, 200, 1]));
    const versions = await Promise.all(Array.from({ length: 32 }, () => version({ key: guest })));
    expect(new Set(versions)).toEqual(new Set(['v1.2.3']));
    for (const socket of half) socket.destroy();
  });

  it('ends with the first record that does not open', async () => {
    const { stream, socket } = await dialSecurely(at(), { key: guest });
    const client = createClient(SupernodeService, secureTransport(stream));
    await client.getStatus({});
    const garbage = Buffer.alloc(60);
    garbage.writeUInt32LE(56);
    garbage.writeUInt32LE(6, 4);
    socket.write(garbage);
    await once(socket, 'close');
    expect(await version({ key: guest })).toBe('v1.2.3');
  });
});

describe('GRPC_SECURE=off', () => {
  it('closes such connections, and the port serves plain ones', { tags: ['S1.channel.off'] }, async () => {
    await using plain = await nodeUnderTest({ secure: false });
    const dialled = dialSecurely({ host: plain.host, port: plain.ports.grpc }, { key: guest });
    await expect(dialled).rejects.toThrow('ended within its handshake');
  });
});
