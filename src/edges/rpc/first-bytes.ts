import type { Socket } from 'node:net';

/** The protocol of a client, recognised by its first bytes. */
export type Protocol = 'h2' | 'http1' | 'tls' | 'channel';

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/**
 * The protocol that the first bytes of a connection show; undefined while they could still become one or the other.
 *
 * HTTP/2 starts with its preface, TLS with 0x16, the secure channel with 0x00 (the high byte of a length below 16 MiB);
 * all else is taken for HTTP/1.1, whose parser refuses what is not.
 */
export function protocolOf(bytes: Buffer): Protocol | undefined {
  if (bytes[0] === 0) return 'channel';
  if (bytes[0] === 0x16) return 'tls';
  const compared = Math.min(bytes.length, preface.length);
  if (!bytes.subarray(0, compared).equals(preface.subarray(0, compared))) return 'http1';
  return bytes.length >= preface.length ? 'h2' : undefined;
}

/** Reads as much of a connection as shows its protocol, and puts it back; undefined when the connection ends before. */
export async function recognise(socket: Socket): Promise<Protocol | undefined> {
  const { promise, resolve } = Promise.withResolvers<Protocol | undefined>();
  let seen = Buffer.alloc(0);
  const read = (): void => {
    const bytes: unknown = socket.read();
    if (!Buffer.isBuffer(bytes)) return;
    seen = Buffer.concat([seen, bytes]);
    const protocol = protocolOf(seen);
    if (protocol) resolve(protocol);
  };
  const end = (): void => resolve(undefined);
  socket.on('readable', read).on('end', end).on('close', end);
  const protocol = await promise;
  socket.off('readable', read).off('end', end).off('close', end);
  if (protocol) socket.unshift(seen);
  return protocol;
}
