import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import type { Duplex } from 'node:stream';
import { createNodeHttpClient, type GrpcTransportOptions } from '@connectrpc/connect-node';

/** One HTTP/2 connection as the gRPC client takes it. */
export type NodeSession = Readonly<{ httpClient: ReturnType<typeof createNodeHttpClient>; close: () => void }>;

type Manager = NonNullable<GrpcTransportOptions['sessionManager']>;

/**
 * Opens an HTTP/2 connection, over an existing stream where one is passed; it never reconnects.
 *
 * Whatever the other side sends over it can at worst end the connection: with the library's own manager, errors of an
 * abandoned connection end the process. Fails when the connection does, or the signal aborts.
 */
export async function openSession(
  authority: string,
  over: Duplex | undefined,
  signal: AbortSignal,
): Promise<NodeSession> {
  // Node drops trailers completely where one ends in a space, and with them the reason of a node's refusal.
  const reading = { strictFieldWhitespaceValidation: false };
  const session = connect(authority, over ? { ...reading, createConnection: () => over } : reading);
  for (const one of [session, over]) one?.on('error', () => undefined);
  const close = (): void => session.destroy();
  try {
    await once(session, 'connect', { signal });
  } catch (caught) {
    close();
    throw caught;
  }
  const manager = managerOf(session, authority);
  return { httpClient: createNodeHttpClient({ httpVersion: '2', sessionProvider: () => manager }), close };
}

function managerOf(session: ClientHttp2Session, authority: string): Manager {
  return {
    authority,
    request: async (method, path, headers, options) =>
      await Promise.resolve(session.request({ ...headers, ':method': method, ':path': path }, options)),
    // Connections live as long as one attempt, whose stall is watched: no check of life is needed.
    notifyResponseByteRead: () => undefined,
  };
}
