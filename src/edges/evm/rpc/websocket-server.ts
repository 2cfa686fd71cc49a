import { createServer, type Server } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import { Connection } from './connection.ts';
import type { Origins } from '../../kit/setting-forms.ts';
import type { Dispatcher } from './dispatcher.ts';
import { mayAsk } from './http-server.ts';

/** Of one message, of what a slow reader may leave unread, of connections, and of requests that wait on one. */
const most = { messageBytes: 5 * 1024 * 1024, unreadBytes: 16 * 1024 * 1024, connections: 1024, waiting: 1000 };
const pingMs = 30_000;
/** Close codes of RFC 6455. */
const codes = { unsupported: 1003, policy: 1008, tryAgain: 1013 };

/**
 * Makes the server of JSON-RPC over WebSocket; it does not listen yet.
 *
 * Requests of one connection are answered in their order. Who reads slower than he is told is cut off, never waited
 * for; who does not answer a ping within 30 seconds is gone. Pages of other origins than `origins` get HTTP 403.
 * Closing the server cuts every connection.
 */
export function createWebSocketServer(dispatch: Dispatcher, origins: Origins): Server {
  const server = createServer((_, response) => {
    response.writeHead(426, { connection: 'close', upgrade: 'websocket' }).end();
  });
  const sockets = new WebSocketServer({
    server,
    maxPayload: most.messageBytes,
    perMessageDeflate: false,
    verifyClient: ({ req }, answer) => answer(mayAsk(req, origins), 403),
  });
  const pinging = setInterval(() => sockets.clients.forEach(ping), pingMs);
  sockets.on('connection', (socket) => {
    if (sockets.clients.size > most.connections) socket.close(codes.tryAgain, 'too many connections');
    else serve(socket, dispatch);
  });
  sockets.on('error', () => undefined);
  const close = server.close.bind(server);
  server.close = (done) => {
    clearInterval(pinging);
    for (const socket of sockets.clients) socket.terminate();
    return close(done);
  };
  return server;
}

const unanswered = new WeakSet<WebSocket>();

function ping(socket: WebSocket): void {
  if (unanswered.has(socket)) return socket.terminate();
  unanswered.add(socket);
  socket.ping();
}

function serve(socket: WebSocket, dispatch: Dispatcher): void {
  const send = (text: string): void => {
    if (socket.readyState !== socket.OPEN) return;
    if (socket.bufferedAmount > most.unreadBytes) return socket.terminate();
    socket.send(text);
  };
  const connection = new Connection(send);
  let waiting = 0;
  let last = Promise.resolve();
  const answer = async (text: string): Promise<void> => {
    try {
      const answered = socket.readyState === socket.OPEN ? await dispatch(text, connection) : undefined;
      if (answered !== undefined) send(answered);
    } catch {
      // The dispatcher answers every fault of a request; what is left is ours, and this connection ends with it.
      socket.terminate();
    }
    waiting -= 1;
  };
  socket.on('pong', () => unanswered.delete(socket));
  // Malformed frames and messages that are too long; `ws` closes the connection itself.
  socket.on('error', () => undefined);
  socket.on('close', () => connection.close());
  socket.on('message', (data, isBinary) => {
    if (isBinary) return socket.close(codes.unsupported, 'requests are text');
    waiting += 1;
    if (waiting > most.waiting) return socket.close(codes.policy, 'too many requests at once');
    const text = textOf(data);
    last = last.then(() => answer(text));
  });
}

const textOf = (data: Buffer | ArrayBuffer | Buffer[]): string =>
  Buffer.isBuffer(data)
    ? data.toString('utf8')
    : Buffer.concat([data].flat().map((one) => Buffer.from(one as Buffer))).toString('utf8');
