import { createServer, type Server } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import { Connection } from './connection.ts';
import { callerOf } from '../../../kit/net-address.ts';
import { mayRequest, type RpcServing } from './http-server.ts';
import { isOneOf } from '../../../kit/connection-limits.ts';
import { type Admitted, CallIntake, connectionBounds } from './intake.ts';
import { Outbox } from './outbox.ts';

/** Of one message, of connections, and of requests that wait on one. */
const most = { messageBytes: 5 * 1024 * 1024, connections: 1024, waiting: 1000 };
/** How long a client may leave a ping unanswered, and at how many looks in a row within that time. */
const silence = { ms: 30_000, looks: 4 };
/** Close codes of RFC 6455. */
const codes = { unsupported: 1003, policy: 1008, tryAgain: 1013 };

/** How long a client may be silent, and proxies (addresses, subnets) that represent many clients. */
type WebSocketOptions = Readonly<{ silenceMs?: number; trustedProxies?: readonly string[] }>;

/**
 * Makes the server of JSON-RPC over WebSocket; it does not listen yet.
 *
 * One address has a quarter of the connections at most, so that others find one.

 * Requests of one connection are answered in their order. A client that reads slower than the server sends is
 * disconnected, never waited for, and so is one that does not answer a ping within `silenceMs`, while this process did
 * not stand still. Pages of other origins than `origins` get HTTP 403. Closing the server cuts every connection.
 */
export function createWebSocketServer(serving: RpcServing, options: WebSocketOptions = {}): Server {
  const { silenceMs = silence.ms, trustedProxies = [] } = options;
  const server = createServer((_, response) => {
    response.writeHead(426, { connection: 'close', upgrade: 'websocket' }).end();
  });
  const sockets = new WebSocketServer({
    server,
    maxPayload: most.messageBytes,
    perMessageDeflate: false,
    verifyClient: ({ req }, answer) => answer(mayRequest(req, serving.origins), 403),
  });
  // Looks are counted, not time: between two of them whatever has come is read, also after this process stood still.
  const silentLooks = new WeakMap<WebSocket, number>();
  const look = (socket: WebSocket): void => {
    const looks = silentLooks.get(socket) ?? 0;
    if (looks >= silence.looks) return socket.terminate();
    if (looks === 0) socket.ping();
    silentLooks.set(socket, looks + 1);
  };
  const looking = setInterval(() => sockets.clients.forEach(look), silenceMs / silence.looks);
  const connections = new CallIntake(connectionBounds);
  sockets.on('connection', (socket, { socket: { remoteAddress = '' } }) => {
    const caller = callerOf(remoteAddress);
    const isBounded = !isOneOf(remoteAddress, trustedProxies);
    const admitted = isBounded ? admittedBy(connections, { caller, bytes: 0 }) : undefined;
    socket.on('close', () => admitted?.leave());
    const isTooMany = sockets.clients.size > most.connections || (isBounded && !admitted);
    if (isTooMany) socket.close(codes.tryAgain, 'too many connections');
    else serve(socket, caller, serving);
    socket.on('pong', () => silentLooks.delete(socket));
  });
  sockets.on('error', () => undefined);
  const close = server.close.bind(server);
  server.close = (done) => {
    clearInterval(looking);
    for (const socket of sockets.clients) socket.terminate();
    return close(done);
  };
  return server;
}

function serve(socket: WebSocket, caller: string, { dispatch, intake, unread }: RpcServing): void {
  const gone = new AbortController();
  const cut = (): void => {
    socket.terminate();
    end();
  };
  const outbox = new Outbox(socket, { share: unread.enter(caller), cut });
  const connection = new Connection(outbox);
  const sender = { caller, connection, signal: gone.signal };
  const inFlight = new Set<Admitted>();
  let waiting = 0;
  let last = Promise.resolve();
  const answer = async (text: string, admitted: Admitted): Promise<void> => {
    try {
      const answered = socket.readyState === socket.OPEN ? await dispatch(text, sender) : undefined;
      if (answered !== undefined) outbox.send(answered);
      outbox.release();
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
  const end = (): void => {
    gone.abort();
    for (const one of inFlight) one.leave();
    connection.close();
    outbox.close();
  };
  socket.on('close', end);
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

/** Admission among what the caller has; undefined where it has too much. */
function admittedBy(
  intake: CallIntake,
  { caller, bytes }: Readonly<{ caller: string; bytes: number }>,
): Admitted | undefined {
  let admitted: Admitted | undefined;
  try {
    admitted = intake.enter(caller);
    admitted.grow(bytes);
    return admitted;
  } catch {
    // The connection is closed for it, with a code.
    admitted?.leave();
    return undefined;
  }
}

const textOf = (data: Buffer | ArrayBuffer | Buffer[]): string =>
  Buffer.isBuffer(data)
    ? data.toString('utf8')
    : Buffer.concat([data].flat().map((one) => Buffer.from(one as Buffer))).toString('utf8');
