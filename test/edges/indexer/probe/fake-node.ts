import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer, type Server as TcpServer, type Socket } from 'node:net';
import { type Dial, dialPort } from '../../../../src/edges/indexer/probe/dial.ts';
import answers from '../../../fixtures/node-status/answers.json' with { type: 'json' };

/** Ports of this machine behind the three known ports of a node. */
export type Doors = Readonly<Record<number, number>>;
type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Something that listens on loopback, and how often it was connected to. */
export type Listening = AsyncDisposable & Readonly<{ port: number; accepted: () => number }>;

/** Listens on a free port of loopback with any server. */
export async function listen(server: Server | TcpServer): Promise<Listening> {
  const sockets = new Set<Socket>();
  let count = 0;
  server.on('connection', (socket: Socket) => {
    count += 1;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  };
  return { port, accepted: () => count, [Symbol.asyncDispose]: close };
}

/** A node's HTTP port that answers as told. */
export const httpPort = (answer: Answer): Promise<Listening> => listen(createHttpServer(answer));
/** A port that accepts connections and says nothing. */
export const silentPort = (): Promise<Listening> => listen(createServer());

/** A port of loopback on which nothing listens. */
export async function closedPort(): Promise<number> {
  const listening = await silentPort();
  await listening[Symbol.asyncDispose]();
  return listening.port;
}

/** Answers with one of the recorded answers of real nodes. */
export function recorded(response: ServerResponse, name: keyof typeof answers): void {
  const { status, headers, body } = answers[name];
  response.writeHead(status, { ...headers }).end(body);
}

/** The recorded status of a node, or its services. */
export const asRecorded: Answer = ({ url }, response) =>
  recorded(response, url?.startsWith('/api/v1/status') ? 'status-p2p-snake' : 'services');

/** A node with all three ports open. */
export async function startNode(
  answer: Answer = asRecorded,
): Promise<AsyncDisposable & { doors: Doors; http: Listening }> {
  const [grpc, peers, http] = await Promise.all([silentPort(), silentPort(), httpPort(answer)]);
  const close = async () => void (await Promise.all([grpc, peers, http].map((one) => one[Symbol.asyncDispose]())));
  return { doors: { 4444: grpc.port, 4445: peers.port, 8002: http.port }, http, [Symbol.asyncDispose]: close };
}

/** Dials ports of loopback in place of those of public addresses. */
export function dialInstead(doorsOf: (ip: string) => Doors): Dial {
  return (ip, port, options) => dialPort('127.0.0.1', doorsOf(ip)[port] ?? 0, options);
}

const blackHole = `
  require('node:net').createServer().listen({ host: '127.0.0.1', port: 0, backlog: 1 }, function () {
    require('node:fs').writeSync(1, this.address().port + '\\n');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;

/** A port that neither accepts nor refuses: a process that never takes connections, with its queue full. */
export async function startBlackHole(): Promise<AsyncDisposable & { port: number }> {
  const child = spawn(process.execPath, ['-e', blackHole], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line]: [Buffer] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(line.toString());
  const fillers: Socket[] = [];
  const isFull = async () => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    fillers.push(socket);
    const answered = await Promise.race([
      once(socket, 'connect').then(() => true),
      new Promise<false>((resolve) => void setTimeout(resolve, 300, false)),
    ]);
    return !answered;
  };
  while (!(await isFull()))
    if (fillers.length > 64) throw new Error('This machine takes more connections than it was told');
  const close = async () => {
    for (const socket of fillers) socket.destroy();
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  return { port, [Symbol.asyncDispose]: close };
}
