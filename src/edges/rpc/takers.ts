import { createServer as createHttp1Server, type Server as Http1Server, ServerResponse } from 'node:http';
import {
  constants,
  createSecureServer,
  createServer as createHttp2Server,
  type Http2SecureServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { countDown } from '../../kit/wait.ts';
import type { Protocol } from './first-bytes.ts';
import { boundRequests } from './call-deadline.ts';
import { setCaller } from './callers.ts';
import { boundFrames, whenRead } from './frame-budget.ts';
import type { RpcHandler } from './handler.ts';
import { watchAnswer } from './stalled-answers.ts';
import type { TlsMaterial } from './tls.ts';

/** The handlers of connections. */
export type TakerOptions = Readonly<{
  handler: RpcHandler;
  /** Opens a connection that starts with the secure channel's handshake; without it such connections are closed. */
  openChannel?: ((socket: Socket) => Promise<Duplex>) | undefined;
  /** With it, HTTP is accepted within TLS only. */
  tls: TlsMaterial | undefined;
  silenceMs: number;
  /** A connection of HTTP/2 without a call ends after so long; a minute unless set. */
  idleMs?: number;
}>;

/** The handlers of recognised connections; a protocol without one is refused. */
export type Takers = Readonly<{
  take: Readonly<Partial<Record<Protocol, (socket: Socket) => void | Promise<void>>>>;
  /** What connections from now on are secured with. */
  renewTls: (material: TlsMaterial) => void;
}>;

const streamsPerConnection = 100;
/**
 * With these, transfers do not wait for round trips, and a connection holds at most 16 MiB that no handler has read.
 */
const streamWindowBytes = 8 * 2 ** 20;
const connectionWindowBytes = 16 * 2 ** 20;
const settings = { maxConcurrentStreams: streamsPerConnection, initialWindowSize: streamWindowBytes };

/** Servers that do not listen themselves: each receives the connections that speak its protocol. */
export function createTakers(options: TakerOptions): Takers {
  const { handler, openChannel, tls, silenceMs } = options;
  const http2 = bounded(createHttp2Server({ settings }, handler), options);
  const channel = openChannel && {
    channel: async (socket: Socket) => {
      const { remoteAddress = '' } = socket;
      const stream = await openChannel(socket);
      const note = (session: ServerHttp2Session): void => setCaller(session, remoteAddress);
      http2.once('session', note);
      http2.emit('connection', stream);
      http2.off('session', note);
    },
  };
  if (tls) {
    const secure = createSecure(tls, options);
    return {
      take: { ...channel, tls: (socket) => void secure.emit('connection', socket) },
      renewTls: (material) => secure.setSecureContext(contextOf(material)),
    };
  }
  const http1 = createHttp1Server(handler);
  const bound = boundRequests(http1, silenceMs);
  endStalled(http1, silenceMs);
  return {
    take: {
      ...channel,
      h2: (socket) => void http2.emit('connection', socket),
      http1: (socket) => {
        socket.allowHalfOpen = true;
        bound(socket);
        http1.emit('connection', socket);
      },
    },
    renewTls: () => undefined,
  };
}

function createSecure(tls: TlsMaterial, options: TakerOptions): Http2SecureServer {
  const { handler, silenceMs } = options;
  const needsClient = tls.ca !== undefined;
  const secure = createSecureServer(
    {
      ...contextOf(tls),
      settings,
      allowHTTP1: true,
      handshakeTimeout: silenceMs,
      requestCert: needsClient,
      rejectUnauthorized: needsClient,
    },
    handler,
  );
  const bound = boundRequests(secure, silenceMs);
  endStalled(secure, silenceMs);
  secure.on('secureConnection', (socket) => {
    if (socket.alpnProtocol !== 'h2') bound(socket);
  });
  return bounded(secure, options);
}

function contextOf(material: TlsMaterial) {
  return { ...material, minVersion: 'TLSv1.2' } as const;
}

const usualIdleMs = 60_000;

/** Sets the windows of its connections, and ends connections and calls that stay silent. */
function bounded<S extends Http2Server | Http2SecureServer>(
  http2: S,
  { silenceMs, idleMs = usualIdleMs }: Pick<TakerOptions, 'silenceMs' | 'idleMs'>,
): S {
  const server: Http2Server | Http2SecureServer = http2;
  server.on('session', (session) => {
    session.setLocalWindowSize(connectionWindowBytes);
    const late = countDown(silenceMs, () => session.destroy());
    for (const event of ['remoteSettings', 'close']) session.once(event, late.stop);
    endIdle(session, idleMs);
    boundFrames(session);
  });
  server.on('stream', (stream) => {
    endSilent(stream, silenceMs);
    watchAnswer(stream, silenceMs, () => stream.close(constants.NGHTTP2_CANCEL));
  });
  return http2;
}

/**
 * Ends a call whose client sends nothing; where bytes wait to be read, it is our own disk that is behind.
 */
function endSilent(stream: ServerHttp2Stream, silenceMs: number): void {
  const isHeld = (): boolean => stream.readableLength > 0 || stream.state.remoteClose === 1;
  const silence = countDown(silenceMs, () => stream.close(constants.NGHTTP2_CANCEL), isHeld);
  whenRead(stream, silence.restart);
  for (const event of ['end', 'close']) stream.once(event, silence.stop);
}

/** Ends a session that has had no call for a while; a client that wants to call again connects anew. */
function endIdle(session: ServerHttp2Session, idleMs: number): void {
  let open = 0;
  const startTimer = (): NodeJS.Timeout => setTimeout(() => session.close(), idleMs).unref();
  let timer = startTimer();
  session.on('stream', (stream) => {
    open += 1;
    clearTimeout(timer);
    stream.once('close', () => {
      open -= 1;
      if (open === 0 && !session.destroyed) timer = startTimer();
    });
  });
  session.once('close', () => clearTimeout(timer));
}

/** Ends connections of HTTP/1.1 whose answers nobody reads. */
function endStalled(server: Http1Server | Http2SecureServer, limitMs: number): void {
  const http1: Pick<Http1Server, 'on'> = server as Http1Server;
  http1.on('request', ({ socket }, response: unknown) => {
    if (response instanceof ServerResponse) watchAnswer(response, limitMs, () => socket.destroy());
  });
}
