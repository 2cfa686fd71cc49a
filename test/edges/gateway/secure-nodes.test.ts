import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { accountOf, type PrivateKey, publicKeyOf } from '../../../src/edges/chain/sign/keys.ts';
import { connectNode } from '../../../src/edges/gateway/nodes/connection.ts';
import { channelOpener } from '../../../src/edges/rpc/channel/open-channel.ts';
import type { SecureStream } from '../../../src/edges/rpc/channel/secure-stream.ts';
import { creatorKey } from './gateway-under-test.ts';

const nodeKey: PrivateKey = { type: 'secp256k1', bytes: new Uint8Array(32).fill(9) };

/** A node of the secure channel that does this once hands are shaken. */
async function nodeThat(misbehaves: (stream: SecureStream, socket: Socket) => void) {
  const opened = channelOpener({ key: nodeKey, isWelcome: async () => await Promise.resolve(true) });
  const serve = async (socket: Socket): Promise<void> => {
    const stream = await opened(socket);
    stream.on('error', () => undefined);
    misbehaves(stream, socket);
  };
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    void serve(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { account: accountOf(publicKeyOf(nodeKey)), ip: '127.0.0.1', port };
}

const misdeeds: readonly (readonly [string, (stream: SecureStream, socket: Socket) => void])[] = [
  ['speaks no HTTP/2', (stream) => stream.end(randomBytes(10_000))],
  ['speaks HTTP/1.1', (stream) => stream.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')],
  ['sends frames that there are not', (stream) => stream.write(Buffer.alloc(30_000, 255))],
  ['hangs up', (stream) => stream.end()],
  ['resets the connection', (_, socket) => socket.resetAndDestroy()],
  ['sends records of nobody’s', (_, socket) => socket.write(randomBytes(10_000))],
  ['sends a record without an end', (_, socket) => socket.write(Buffer.from([255, 255, 255, 255]))],
  ['says nothing', () => undefined],
];

it.each(misdeeds)('a node that %s once hands are shaken is left', { tags: ['S3.nodes.hostile'] }, async (_, does) => {
  const node = await nodeThat(does);
  const asked = async (): Promise<void> => {
    const leaving = AbortSignal.timeout(500);
    const key = async () => await Promise.resolve(creatorKey);
    const { client, close } = await connectNode(node, { key, handshakes: new Map() }, leaving);
    try {
      for await (const told of client.download({ actionId: '1', signature: '' }, { signal: leaving }))
        expect(told).toBeUndefined();
    } finally {
      close();
    }
  };
  await expect(asked()).rejects.toThrow();
  // What comes of a connection after it was given up must not end the process either.
  await expect(asked()).rejects.toThrow();
});
