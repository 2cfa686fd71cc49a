import { createServer as createHttp1Server } from 'node:http';
import { constants, createServer as createHttp2Server, type Http2Server } from 'node:http2';
import { createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { toAppError } from '../../commands/errors.ts';
import { listen, type Place } from '../kit/listen.ts';
import type { Logger } from '../kit/logger.ts';
import { recognise } from './first-bytes.ts';
import type { RpcHandler } from './handler.ts';

/** What an RPC port serves, and where. */
export type RpcServerOptions = Readonly<{
  place: Place;
  handler: RpcHandler;
  /** Opens a connection that begins with the secure channel's handshake; without it such connections are closed. */
  openChannel?: ((socket: Socket) => Promise<Duplex>) | undefined;
  /** A connection or a call that has begun and brings no byte ends after so long. */
  silenceMs?: number;
  logger: Logger;
}>;

/** An open RPC port. */
export type RpcServer = Readonly<{
  port: number;
  /** Closes the port and cuts whoever is connected. */
  close: () => Promise<void>;
}>;

const usualSilenceMs = 30_000;
const connections = 4096;
const streamsPerConnection = 100;
/** With these, bytes are not held up by round trips, and a connection holds at most 16 MiB that nobody has read. */
const streamWindowBytes = 8 * 2 ** 20;
const connectionWindowBytes = 16 * 2 ** 20;

/**
 * Opens one port for gRPC over plain HTTP/2, HTTP/1.1 (gRPC-Web, Connect) and the secure channel, told apart by their
 * first bytes.
 *
 * Fails with `UNAVAILABLE` when the port is taken.
 */
export async function openRpcPort(options: RpcServerOptions): Promise<RpcServer> {
  const { handler, logger, silenceMs = usualSilenceMs, openChannel } = options;
  const http2 = createHttp2(handler, silenceMs);
  const http1 = createHttp1Server({ headersTimeout: silenceMs, requestTimeout: silenceMs }, handler);
  http1.timeout = silenceMs;
  const sockets = new Set<Socket>();
  const welcome = async (socket: Socket): Promise<void> => {
    const protocol = await recognise(socket);
    if (protocol === 'h2') http2.emit('connection', socket);
    else if (protocol === 'http1') {
      socket.allowHalfOpen = true;
      http1.emit('connection', socket);
    } else if (protocol === 'channel' && openChannel) http2.emit('connection', await openChannel(socket));
    else socket.destroy();
  };
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
    const late = setTimeout(() => socket.destroy(), silenceMs);
    welcome(socket)
      .catch((caught: unknown) => {
        logger.debug({ err: toAppError(caught), from: socket.remoteAddress }, 'connection refused');
        socket.destroy();
      })
      .finally(() => clearTimeout(late));
  });
  server.maxConnections = connections;
  const port = await listen(server, options.place);
  return {
    port,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function createHttp2(handler: RpcHandler, silenceMs: number): Http2Server {
  const settings = { maxConcurrentStreams: streamsPerConnection, initialWindowSize: streamWindowBytes };
  const http2 = createHttp2Server({ settings }, handler);
  http2.on('session', (session) => {
    session.setLocalWindowSize(connectionWindowBytes);
    const late = setTimeout(() => session.destroy(), silenceMs);
    session.once('remoteSettings', () => clearTimeout(late)).once('close', () => clearTimeout(late));
  });
  http2.on('stream', (stream) => {
    stream.setTimeout(silenceMs, () => stream.close(constants.NGHTTP2_CANCEL));
    stream.once('end', () => stream.setTimeout(0));
  });
  return http2;
}
