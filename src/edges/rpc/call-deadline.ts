import type { Server } from 'node:http';
import type { Http2SecureServer } from 'node:http2';
import type { Socket } from 'node:net';

/**
 * Closes connections of HTTP/1.1 that have no finished request within a time limit: from their start, and again from
 * the end of each answer. This ends clients that drip their requests, and idle ones.
 *
 * Node's own limits do not apply to a server that receives its connections from another one instead of listening. While
 * a request is being answered, no limit runs: how long that takes is up to the handler.
 *
 * @returns the function to call with each new connection
 */
export function boundRequests(server: Server | Http2SecureServer, withinMs: number): (socket: Socket) => void {
  const deadlines = new WeakMap<Socket, NodeJS.Timeout>();
  const open = (socket: Socket): void => {
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
    response.once('finish', () => open(socket));
  });
  return (socket) => {
    open(socket);
    socket.once('close', () => clearTimeout(deadlines.get(socket)));
  };
}
