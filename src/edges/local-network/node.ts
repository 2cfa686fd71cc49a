import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { listen } from '../kit/listen.ts';
import { type NodeIdentity, nodeServices, nodeStatus } from './status.ts';

/** Ports of a SuperNode: its gRPC, its P2P, its HTTP status. */
export type NodePorts = Readonly<{ grpc: number; p2p: number; http: number }>;

/** Where a node listens, and what it says of itself. */
export type LocalNodeOptions = Readonly<{
  host: string;
  /** 0 picks a free one. */
  ports: NodePorts;
  identity: Omit<NodeIdentity, 'startedAt'>;
}>;

/** A SuperNode of the local network: sockets that a probe finds open, and a status. */
export type LocalNode = Readonly<{
  host: string;
  /** Those that are open; undefined while it is down. */
  ports: () => NodePorts | undefined;
  /** Opens its sockets; fails with `UNAVAILABLE` that names the port which cannot be had. */
  goUp: () => Promise<void>;
  /** Closes its sockets and cuts whoever is connected. */
  goDown: () => Promise<void>;
}>;

const cors = {
  'access-control-allow-headers':
    'Accept, Content-Type, Content-Length, Accept-Encoding, Authorization, X-Lumera-Recovery-Token',
  'access-control-allow-methods': 'GET, POST, PUT, DELETE, OPTIONS',
  'access-control-allow-origin': '*',
};
/** Real nodes close a connection that does not begin their handshake after so long. */
const handshakeMs = 30_000;

/** A local SuperNode, down at first. */
export function createLocalNode({ host, ports, identity }: LocalNodeOptions): LocalNode {
  let running: Running | undefined;
  return {
    host,
    ports: () => running?.ports,
    goUp: async () => {
      running ??= await open({ host, ports, identity });
    },
    goDown: async () => {
      const closing = running;
      running = undefined;
      await closing?.close();
    },
  };
}

type Running = Readonly<{ ports: NodePorts; close: () => Promise<void> }>;

async function open({ host, ports, identity }: LocalNodeOptions): Promise<Running> {
  const down = new AbortController();
  const sockets = new Set<Socket>();
  const silent = (): Server => createServer((socket) => keep(sockets, socket));
  const node = { ...identity, startedAt: Date.now() };
  const http = createHttpServer((request, response) => void answer(node, request, response, down.signal));
  const servers = { grpc: silent(), p2p: silent(), http };
  const close = async (): Promise<void> => {
    down.abort();
    for (const socket of sockets) socket.destroy();
    http.closeAllConnections();
    await Promise.all(Object.values(servers).map(closeServer));
  };
  const remedy = `Stop what uses it${host.startsWith('127.') ? `; where ${host} is no address of this machine, give it one (macOS: sudo ifconfig lo0 alias ${host} up)` : ''}.`;
  const place = (port: number, name: string) => ({ host, port, what: `the ${name} port of a local SuperNode`, remedy });
  try {
    const grpc = await listen(servers.grpc, place(ports.grpc, 'gRPC'));
    const p2p = await listen(servers.p2p, place(ports.p2p, 'P2P'));
    return { ports: { grpc, p2p, http: await listen(servers.http, place(ports.http, 'status')) }, close };
  } catch (caught) {
    await close();
    throw caught;
  }
}

function keep(sockets: Set<Socket>, socket: Socket): void {
  sockets.add(socket);
  const late = setTimeout(() => socket.destroy(), handshakeMs);
  socket.on('error', () => socket.destroy());
  socket.on('close', () => {
    clearTimeout(late);
    sockets.delete(socket);
  });
  socket.resume();
}

async function closeServer(server: Server | HttpServer): Promise<void> {
  if (server.listening) await new Promise((resolve) => server.close(resolve));
}

async function answer(
  node: NodeIdentity,
  request: IncomingMessage,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  request.resume();
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://node');
  const send = (status: number, body: object): void =>
    void response.writeHead(status, { 'content-type': 'application/json', ...cors }).end(JSON.stringify(body));
  if (request.method === 'OPTIONS') return void response.writeHead(200, cors).end();
  const isStatus = pathname === '/api/v1/status';
  if (!isStatus && pathname !== '/api/v1/services') return send(404, { code: 5, message: 'Not Found', details: [] });
  if (request.method !== 'GET') return send(501, { code: 12, message: 'Method Not Allowed', details: [] });
  if (!isStatus) return send(200, nodeServices);
  const asked = searchParams.get('include_p2p_metrics') ?? searchParams.get('includeP2pMetrics') ?? 'false';
  if (!/^(1|t|true|0|f|false)$/i.test(asked)) {
    const problem = `parsing field "include_p2p_metrics": strconv.ParseBool: parsing ${JSON.stringify(asked)}: invalid syntax`;
    return send(400, { code: 3, message: problem, details: [] });
  }
  try {
    send(200, await nodeStatus(node, /^(1|t)/i.test(asked), signal));
  } catch {
    // The node went down while the CPU was sampled; its sockets are cut already.
    response.destroy();
  }
}
