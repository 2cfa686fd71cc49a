import type { Server } from 'node:http';
import type { Http2SecureServer } from 'node:http2';
import type { Socket } from 'node:net';

/**
 * Closes connections of HTTP/1.1 that have no finished request within a time limit: from their beginning, and again
 * from the end of each answer. A client that drips its request ends so, and one that is idle.
 *
 * Node's own limits do not hold on a server that is given its connections instead of listening. While a request is
 * being answered, no limit runs: how long that takes is up to the handler.
 *
 * @returns what a connection is given to when it begins
 */
export function boundRequests(server: Server | Http2SecureServer, withinMs: number): (socket: Socket) => void {
  const deadlines = new WeakMap<Socket, NodeJS.Timeout>();
  const begin = (socket: Socket): void => {
    clearTimeout(deadlines.get(socket));
    if (!socket.destroyed) deadlines.set(socket, setTimeout(() => socket.destroy(), withinMs).unref());
  };
  const http1: Pick<Server, 'on'> = server as Server;
  http1.on('request', (request, response) => {
    const { socket } = request;
    if (!deadlines.has(socket)) return;
    request.once('end', () => {
      if (!response.writableFinished) clearTimeout(deadlines.get(socket));
    });
    response.once('finish', () => begin(socket));
  });
  return (socket) => {
    begin(socket);
    socket.once('close', () => clearTimeout(deadlines.get(socket)));
  };
}
