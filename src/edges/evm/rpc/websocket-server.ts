import { createServer, type Server } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import { Connection } from './connection.ts';
import { callerOf } from '../../../kit/net-address.ts';
import { mayRequest, type RpcServing } from './http-server.ts';
import type { Admitted } from './intake.ts';

/** Of one message, of what a slow reader may leave unread, of connections, and of requests that wait on one. */
const most = { messageBytes: 5 * 1024 * 1024, unreadBytes: 16 * 1024 * 1024, connections: 1024, waiting: 1000 };
const pingMs = 30_000;
/** Close codes of RFC 6455. */
const codes = { unsupported: 1003, policy: 1008, tryAgain: 1013 };

/**
 * Makes the server of JSON-RPC over WebSocket; it does not listen yet.
 *
 * Requests of one connection are answered in their order. A client that reads slower than the server sends is
 * disconnected, never waited for, and so is one that does not answer a ping within 30 seconds. Pages of other origins
 * than `origins` get HTTP 403. Closing the server cuts every connection.
 */
export function createWebSocketServer(serving: RpcServing): Server {
  const server = createServer((_, response) => {
    response.writeHead(426, { connection: 'close', upgrade: 'websocket' }).end();
  });
  const sockets = new WebSocketServer({
    server,
    maxPayload: most.messageBytes,
    perMessageDeflate: false,
    verifyClient: ({ req }, answer) => answer(mayRequest(req, serving.origins), 403),
  });
  const unanswered = new WeakSet<WebSocket>();
  const ping = (socket: WebSocket): void => {
    if (unanswered.has(socket)) return socket.terminate();
    unanswered.add(socket);
    socket.ping();
  };
  const pinging = setInterval(() => sockets.clients.forEach(ping), pingMs);
  sockets.on('connection', (socket, { socket: { remoteAddress = '' } }) => {
    if (sockets.clients.size > most.connections) socket.close(codes.tryAgain, 'too many connections');
    else serve(socket, callerOf(remoteAddress), serving);
    socket.on('pong', () => unanswered.delete(socket));
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

function serve(socket: WebSocket, caller: string, { dispatch, intake }: RpcServing): void {
  const send = (text: string): void => {
    if (socket.readyState !== socket.OPEN) return;
    if (socket.bufferedAmount > most.unreadBytes) return socket.terminate();
    socket.send(text);
  };
  const connection = new Connection(send);
  const gone = new AbortController();
  const sender = { caller, connection, signal: gone.signal };
  const inFlight = new Set<Admitted>();
  let waiting = 0;
  let last = Promise.resolve();
  const answer = async (text: string, admitted: Admitted): Promise<void> => {
    try {
      const answered = socket.readyState === socket.OPEN ? await dispatch(text, sender) : undefined;
      if (answered !== undefined) send(answered);
    } catch {
      // The dispatcher answers every fault of a request; what is left is ours, and this connection ends with it.
      socket.terminate();
    }
    inFlight.delete(admitted);
    admitted.leave();
    waiting -= 1;
  };
  // Malformed frames and messages that are too long; `ws` closes the connection itself.
  socket.on('error', () => undefined);
  socket.on('close', () => {
    gone.abort();
    for (const one of inFlight) one.leave();
    connection.close();
  });
  socket.on('message', (data, isBinary) => {
    if (isBinary) return socket.close(codes.unsupported, 'requests are text');
    waiting += 1;
    const text = textOf(data);
    const admitted = waiting > most.waiting ? undefined : admittedBy(intake, { caller, bytes: text.length });
    if (!admitted) return socket.close(codes.policy, 'too many requests at once');
    inFlight.add(admitted);
    last = last.then(() => answer(text, admitted));
  });
}

/** Admission among the requests of the caller; undefined where it has too many. */
function admittedBy(
  intake: RpcServing['intake'],
  { caller, bytes }: Readonly<{ caller: string; bytes: number }>,
): Admitted | undefined {
  let admitted: Admitted | undefined;
  try {
    admitted = intake.enter(caller);
    admitted.grow(bytes);
    return admitted;
  } catch {
    // The connection is closed for it, with a code that names the reason.
    admitted?.leave();
    return undefined;
  }
}

const textOf = (data: Buffer | ArrayBuffer | Buffer[]): string =>
  Buffer.isBuffer(data)
    ? data.toString('utf8')
    : Buffer.concat([data].flat().map((one) => Buffer.from(one as Buffer))).toString('utf8');
