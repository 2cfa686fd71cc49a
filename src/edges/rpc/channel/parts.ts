import type { Socket } from 'node:net';
import { AppError } from '../../../kit/errors.ts';
import type { SignedHello } from './hello.ts';

/** A real part has 64 to 204 bytes; the length is the other end's word. */
const longestPart = 4096;

/**
 * Reads a hello and its signature off a paused socket, each behind its length; fails with `UNAUTHORIZED` when they do
 * not come.
 */
export async function readSignedHello(socket: Socket): Promise<SignedHello> {
  return { hello: await readPart(socket), signature: await readPart(socket) };
}

/** A hello and its signature as they go over the wire. */
export function signedHelloBytes({ hello, signature }: SignedHello): Buffer {
  return Buffer.concat([hello, signature].flatMap((part) => [bigEndian(part.length), part]));
}

function bigEndian(length: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(length);
  return bytes;
}

async function readPart(socket: Socket): Promise<Buffer> {
  const length = (await readExactly(socket, 4)).readUInt32BE();
  if (length === 0 || length > longestPart)
    throw new AppError('UNAUTHORIZED', `A part of ${length} bytes is none of a secure channel's handshake`);
  return await readExactly(socket, length);
}

async function readExactly(socket: Socket, size: number): Promise<Buffer> {
  for (;;) {
    const bytes: unknown = socket.read(size);
    if (Buffer.isBuffer(bytes) && bytes.length === size) return bytes;
    if (socket.readableEnded || socket.destroyed)
      throw new AppError('UNAUTHORIZED', 'A secure channel ended within its handshake');
    await somethingHappens(socket);
  }
}

async function somethingHappens(socket: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const happened = (): void => resolve();
  socket.on('readable', happened).on('end', happened).on('close', happened);
  await promise;
  socket.off('readable', happened).off('end', happened).off('close', happened);
}
