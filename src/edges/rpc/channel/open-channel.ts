import { createECDH } from 'node:crypto';
import type { Socket } from 'node:net';
import { AppError } from '../../../kit/errors.ts';
import { accountOf, type PrivateKey, publicKeyOf } from '../../chain/sign/keys.ts';
import { type ProvenPeer, readHello, writeHello } from './hello.ts';
import { readSignedHello, signedHelloBytes } from './parts.ts';
import { SecureStream } from './secure-stream.ts';
import { commonSecret, sessionKeys } from './session-keys.ts';

/** The account that answers, and the check whether the chain knows the caller. */
export type ChannelOptions = Readonly<{ key: PrivateKey; isWelcome: (peer: ProvenPeer) => Promise<boolean> }>;

/**
 * The server's end of the real network's secure channel: a connection becomes the plain stream inside of it.
 *
 * The client is checked before anything is answered, and its fresh key lives in the connection alone, so that no client
 * can spoil the handshake of another. Fails with `UNAUTHORIZED` or `FORBIDDEN`; the caller closes the connection and
 * bounds its time.
 */
export function channelOpener({ key, isWelcome }: ChannelOptions): (socket: Socket) => Promise<SecureStream> {
  const server = accountOf(publicKeyOf(key));
  return async (socket) => {
    const peer = readHello(await readSignedHello(socket));
    if (!(await isWelcome(peer)))
      throw new AppError('FORBIDDEN', `The chain does not know ${peer.address} as a ${peer.type}`);
    const ephemeral = createECDH('prime256v1');
    const point = ephemeral.generateKeys();
    const secret = commonSecret(ephemeral, peer.point);
    socket.write(signedHelloBytes(writeHello(key, 'superNode', point)));
    return new SecureStream(socket, sessionKeys(secret, { client: peer.address, server }), 'server');
  };
}
