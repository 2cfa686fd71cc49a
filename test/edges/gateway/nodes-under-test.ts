import { once } from 'node:events';
import { createServer, type ServerHttp2Session } from 'node:http2';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { expect, onTestFinished } from 'vitest';
import type { StoringNode } from '../../../src/edges/chain/files/chain.ts';
import { CascadeService, SupernodeEventType } from '../../../src/edges/gen/cascade/service_pb.ts';

const chunkBytes = 50_000;
/** No program listens there: the port of a service that nobody has used for decades. */
const deafPort = 1;

/** What a node does. */
export type Node = ServiceImpl<typeof CascadeService>;
/** What a node does wrong; `cut` ends its connections at once. */
export type Misdeed = (cut: () => void) => Partial<Node>;
/** A node; or nobody at its address, or somebody there who speaks otherwise. */
export type Served = Misdeed | 'absent' | 'garbage';

const chunk = (data: Uint8Array) => ({ responseType: { case: 'chunk' as const, value: { data } } });
/** What a node tells that has finalized an action. */
export const finalized = { eventType: SupernodeEventType.ACTION_FINALIZED, message: 'done', txHash: 'AB'.repeat(32) };

/** The first bytes of a file in the chunks of an answer. */
export async function* chunksOf(of: Uint8Array, upTo = of.length) {
  for (let at = 0; at < upTo; at += chunkBytes) yield chunk(of.subarray(at, Math.min(at + chunkBytes, upTo)));
}

/** Takes what comes until so many bytes of the file are here. */
export async function taken(requests: Parameters<Node['register']>[0], upTo = Infinity): Promise<number> {
  let size = 0;
  for await (const { requestType } of requests) {
    if (requestType.case === 'chunk') size += requestType.value.data.length;
    if (size >= upTo) break;
  }
  return size;
}

/** A node that has a file, and takes no other. */
export function goodNode(bytes: Uint8Array): Node {
  return {
    async *download() {
      yield* chunksOf(bytes);
    },
    async *register(requests) {
      if ((await taken(requests)) !== bytes.length) throw new ConnectError('too few bytes', Code.InvalidArgument);
      yield finalized;
    },
  };
}

/** Receives the id of an action whose finalization a node reports. */
export type OnFinalized = (action: string) => void;

/** Serves nodes that differ from a good one, each on a port of its own; gives where. */
export async function serveNodes(
  good: Node,
  nodes: readonly Served[],
  onFinalized: OnFinalized = () => undefined,
): Promise<StoringNode[]> {
  const places: StoringNode[] = [];
  for (const [index, served] of nodes.entries()) {
    const port = served === 'absent' ? deafPort : await portOf(good, served, onFinalized);
    places.push({ account: `lumera1node${index}`, ip: '127.0.0.1', port });
  }
  return places;
}

async function portOf(good: Node, served: Misdeed | 'garbage', onFinalized: OnFinalized): Promise<number> {
  const server = served === 'garbage' ? speakingOtherwise() : speaking(good, served, onFinalized);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

/** The same node, whose finalizations reach the chain once it reports them. */
function reporting(node: Node, onFinalized: OnFinalized): Node {
  return {
    ...node,
    async *register(requests, context) {
      let action = '';
      const seen = async function* () {
        for await (const request of requests) {
          if (request.requestType.case === 'metadata') action = request.requestType.value.actionId;
          yield request;
        }
      };
      for await (const event of node.register(seen(), context)) {
        if (event.eventType === SupernodeEventType.ACTION_FINALIZED && action !== '') onFinalized(action);
        yield event;
      }
    },
  };
}

function speaking(good: Node, misdeed: Misdeed, onFinalized: OnFinalized): Server {
  const sessions = new Set<ServerHttp2Session>();
  const cut = (): void => sessions.forEach((session) => session.destroy());
  const node = reporting({ ...good, ...misdeed(cut) }, onFinalized);
  const server = createServer(connectNodeAdapter({ routes: (router) => router.service(CascadeService, node) }));
  server.on('session', (session) => sessions.add(session));
  onTestFinished(() => {
    cut();
    server.close();
  });
  return server;
}

function speakingOtherwise(): Server {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.end(`HTTP/1.1 200 OK\r\n\r\n${'\u0000'.repeat(1000)}`);
  });
  onTestFinished(() => void server.close());
  return server;
}

/** A state as the history tells it. */
export type Told = Readonly<{ status: string; data: Readonly<Record<string, unknown>> }>;

/** The history of a task once it has ended. */
export async function historyOf(url: string, kind: 'uploads' | 'downloads', task: string): Promise<Told[]> {
  const below = kind === 'downloads' ? 'downloads/cascade' : 'actions/cascade/tasks';
  const history = async (): Promise<Told[]> =>
    (await (await fetch(`${url}/api/v1/${below}/${task}/history`)).json()) as Told[];
  await expect
    .poll(async () => (await history()).at(-1)?.status, { timeout: 60_000 })
    .toMatch(/^sdk:(completed|failed)$/);
  return await history();
}
