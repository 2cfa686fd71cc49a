import { createECDH } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { AppError } from '../../../kit/errors.ts';
import { accountOf, type PrivateKey, publicKeyOf } from '../../chain/sign/keys.ts';
import { readHello, writeHello } from './hello.ts';
import { readSignedHello, signedHelloBytes } from './parts.ts';
import { SecureStream } from './secure-stream.ts';
import { commonSecret, sessionKeys } from './session-keys.ts';

/** The address to dial, and the account expected there. */
export type ChannelTarget = Readonly<{ host: string; port: number; account: string }>;

/**
 * The client's end of the real network's secure channel to the SuperNode of an account.
 *
 * Fails with `UNAUTHORIZED` where another account answers, with `UNAVAILABLE` where none does within the signal's time.
 */
export async function dialChannel(
  { host, port, account }: ChannelTarget,
  key: PrivateKey,
  signal: AbortSignal,
): Promise<SecureStream> {
  const socket = connect({ host, port, noDelay: true });
  const cut = (): void => void socket.destroy();
  signal.addEventListener('abort', cut, { once: true });
  socket.on('error', cut);
  try {
    await once(socket, 'connect', { signal });
    const ephemeral = createECDH('prime256v1');
    socket.write(signedHelloBytes(writeHello(key, 'client', ephemeral.generateKeys())));
    const server = readHello(await readSignedHello(socket));
    if (server.address !== account || server.type !== 'superNode')
      throw new AppError('UNAUTHORIZED', `${server.address} answers in the place of ${account}`);
    const ends = { client: accountOf(publicKeyOf(key)), server: server.address };
    return new SecureStream(socket, sessionKeys(commonSecret(ephemeral, server.point), ends), 'client');
  } catch (caught) {
    socket.destroy();
    if (caught instanceof AppError && !signal.aborted) throw caught;
    throw new AppError('UNAVAILABLE', `${host}:${port} does not answer on the secure channel`, { cause: caught });
  } finally {
    signal.removeEventListener('abort', cut);
  }
}
