import { connect } from 'node:net';
import type { Random } from '../../../../src/edges/local-network/random.ts';

/** Where a port under attack is. */
export type Target = Readonly<{ host: string; port: number }>;

/** One malformed thing that is sent to a port; gives what is wrong with the answer, undefined where nothing is. */
export type Attack = (target: Target, random: Random) => Promise<string | undefined>;

/** Sends bytes, ends, and gives all that comes back until the connection is closed. */
export async function sendRaw({ host, port }: Target, bytes: Uint8Array): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const received: Buffer[] = [];
  const socket = connect({ host, port, allowHalfOpen: true });
  socket.on('data', (chunk: Buffer) => received.push(chunk));
  socket.on('error', () => undefined).on('end', () => socket.destroy());
  socket.on('close', () => resolve(Buffer.concat(received).toString('latin1')));
  socket.end(bytes);
  return await promise;
}
