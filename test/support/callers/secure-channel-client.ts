import { createECDH } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Transport } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { accountOf, type PrivateKey, publicKeyOf } from '../../../src/edges/chain/sign/keys.ts';
import { type ProvenPeer, readHello, type SignedHello, writeHello } from '../../../src/edges/rpc/channel/hello.ts';
import { readSignedHello, signedHelloBytes } from '../../../src/edges/rpc/channel/parts.ts';
import { SecureStream } from '../../../src/edges/rpc/channel/secure-stream.ts';
import { commonSecret, sessionKeys } from '../../../src/edges/rpc/channel/session-keys.ts';

/** Who calls, and how: `spoil` changes the hello before it is sent. */
export type Caller = Readonly<{
  key: PrivateKey;
  type?: ProvenPeer['type'];
  spoil?: (signed: SignedHello) => SignedHello;
}>;

/** Shakes hands with a node as the real network's client does; fails where the node closes instead of answering. */
export async function dialSecurely(
  { host, port }: Readonly<{ host: string; port: number }>,
  { key, type = 'client', spoil = (signed) => signed }: Caller,
): Promise<{ stream: SecureStream; socket: Socket; server: ProvenPeer }> {
  const socket = connect({ host, port, noDelay: true });
  socket.on('error', () => socket.destroy());
  await once(socket, 'connect');
  const ephemeral = createECDH('prime256v1');
  socket.write(signedHelloBytes(spoil(writeHello(key, type, ephemeral.generateKeys()))));
  const server = readHello(await readSignedHello(socket));
  const ends = { client: accountOf(publicKeyOf(key)), server: server.address };
  const keys = sessionKeys(commonSecret(ephemeral, server.point), ends);
  return { stream: new SecureStream(socket, keys, 'client'), socket, server };
}

/** A gRPC transport through one secure channel. */
export function secureTransport(stream: SecureStream): Transport {
  return createGrpcTransport({ baseUrl: 'http://node', nodeOptions: { createConnection: () => stream } });
}
