/** node 24.21.0 keeps a parser for each connection of its HTTP server until that closes. */
import type { IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Released connections, and what each had received by then, in bytes. */
const released = new WeakMap<Socket, number>();

/** What a reader may send on, in bytes: it has nothing to say. */
const mostSentOn = 64 * 1024;

/**
 * Frees the parser of a connection as soon as it has read a GET that accepts server-sent events only: nothing but its
 * response follows on that connection, which is closed then.
 *
 * Node keeps some 14 KiB a connection for as long as a response lasts, its parser, request and response, and frees
 * the parser early only for an upgrade of the protocol; so each such request is marked as one. A timeout of
 * the connection is still reported by its server. No upgrade to another protocol is taken any more.
 */
export function releaseStreams(server: Server): void {
  Object.assign(server, { shouldUpgradeCallback: () => false });
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!acceptsStreamOnly(request)) return;
    response.shouldKeepAlive = false;
    Object.assign(request, { upgrade: true });
  });
  const onTimeout = function (this: Socket): void {
    server.emit('timeout', this);
  };
  server.on('upgrade', (_request: IncomingMessage, socket: Socket) => {
    released.set(socket, socket.bytesRead);
    socket.on('error', ignore).on('timeout', onTimeout).on('data', drop);
    // As Node's server does, once the response has left: its reader may never close its own half.
    socket.on('end', destroy).on('finish', destroy);
  });
}

/** Returns whether Node's server reads a connection no more, and is done with it once its response is over. */
export function isReleased(socket: Socket): boolean {
  return released.has(socket);
}

/**
 * Sends the head of a response and returns what its body is written to: the bare connection where it is released, with
 * the response over and free, and else the response itself.
 */
export function startStream(
  response: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders,
): ServerResponse | Socket {
  const { socket } = response;
  const isBare = socket !== null && isReleased(socket);
  // The body ends with the connection.
  if (isBare) response.removeHeader('transfer-encoding');
  // Headers that are written, and not set first, are not kept; sent by themselves, they are one string and not many.
  response.writeHead(status, headers).flushHeaders();
  if (!isBare) return response;
  response.detachSocket(socket);
  response.emit('close');
  return socket;
}

function acceptsStreamOnly({ method, headers }: IncomingMessage): boolean {
  const { accept, 'content-length': length, 'transfer-encoding': encoding } = headers;
  return method === 'GET' && accept === 'text/event-stream' && length === undefined && encoding === undefined;
}

function ignore(): void {
  // A connection that fails closes, which is what its users listen for.
}

function destroy(this: Socket): void {
  this.destroy();
}

function drop(this: Socket): void {
  if (this.bytesRead - (released.get(this) ?? 0) > mostSentOn) this.destroy();
}
