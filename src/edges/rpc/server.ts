import { createServer, type Socket } from 'node:net';
import { toAppError } from '../../kit/errors.ts';
import { limitConnections } from '../../kit/connection-limits.ts';
import { listen, type ListenAddress } from '../../kit/listen.ts';
import type { Logger } from '../../kit/logger.ts';
import { countDown } from '../../kit/wait.ts';
import { recognise } from './first-bytes.ts';
import { createTakers, type TakerOptions } from './takers.ts';
import { followTls, readTls, type TlsFiles } from './tls.ts';

/** The services of an RPC port, and its address. */
export type RpcServerOptions = Omit<TakerOptions, 'tls' | 'silenceMs'> &
  Readonly<{
    place: ListenAddress;
    /** With it, plain connections are refused; the files are read again when they change. */
    tls?: TlsFiles | undefined;
    /** How often the files are checked. */
    tlsEveryMs?: number;
    /** A connection or a call that sends no byte for so long is ended. */
    silenceMs?: number;
    /** Connections of one address at once; 64 unless set. Proxies that stand for many callers have no such bound. */
    mostPerAddress?: number | undefined;
    trustedProxies?: readonly string[] | undefined;
    logger: Logger;
  }>;

/** An open RPC port. */
export type RpcServer = Readonly<{
  port: number;
  /** Closes the port and disconnects every client. */
  close: () => Promise<void>;
}>;

const usualSilenceMs = 30_000;
const connections = 4096;
const usualPerAddress = 64;

/**
 * Opens one port for gRPC over HTTP/2, HTTP/1.1 (gRPC-Web, Connect), either within TLS where that is set, and the
 * secure channel, distinguished by their first bytes.
 *
 * Fails with `UNAVAILABLE` when the port is in use, with `INVALID_ARGUMENT` when certificate and key cannot be used.
 */
export async function openRpcPort(options: RpcServerOptions): Promise<RpcServer> {
  const { logger, silenceMs = usualSilenceMs, tls: files, tlsEveryMs } = options;
  const { mostPerAddress = usualPerAddress, trustedProxies = [] } = options;
  const tls = files ? await readTls(files) : undefined;
  const { take, renewTls } = createTakers({ ...options, silenceMs, tls });
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
    const late = countDown(silenceMs, () => socket.destroy());
    recognise(socket)
      .then(async (protocol) => await (protocol && take[protocol] ? take[protocol](socket) : socket.destroy()))
      .catch((caught: unknown) => {
        logger.debug({ err: toAppError(caught), from: socket.remoteAddress }, 'connection refused');
        socket.destroy();
      })
      .finally(late.stop);
  });
  limitConnections(server, { most: connections, mostPerAddress, trustedProxies });
  const port = await listen(server, options.place);
  const ending = new AbortController();
  const following = { renew: renewTls, logger, signal: ending.signal, everyMs: tlsEveryMs };
  const followed = files && tls ? followTls(files, tls, following) : undefined;
  return {
    port,
    close: async () => {
      ending.abort();
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
      await followed;
    },
  };
}
