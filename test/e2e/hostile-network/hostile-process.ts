/**
 * The process of whoever is hostile: nodes that turned, and strangers with their sockets. It ends with its parent.
 *
 * In a process of their own they take no time of the chain, and none of what measures.
 */
import { once } from 'node:events';
import { createServer, type ServerHttp2Session } from 'node:http2';
import { connect } from 'node:net';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { pino } from 'pino';
import { CascadeService } from '../../../src/edges/gen/cascade/service_pb.ts';
import type { RealNode } from '../../../src/edges/local-network/cast.ts';
import { randomOf } from '../../../src/edges/local-network/random.ts';
import { type Answering, openPeerHost, type PeerHost } from '../../../src/edges/node/peers/host.ts';
import { createDiagnostics } from '../../../src/edges/node/status/diagnostics.ts';
import { encodeManifest } from '../../../src/edges/node/storage/manifest.ts';
import { hashPiece, pieceBytes } from '../../../src/edges/node/storage/piece-hash.ts';
import { drippingUpload, strangersSession, unreadDownload } from '../../edges/node/hostile/strangers.ts';
import type { Manner, NumberedOrder, Order, Reply } from './orders.ts';

type Register = ServiceImpl<typeof CascadeService>['register'];

const strangers = 200;
const ports = { grpc: 4444, p2p: 4445 };
const hosts = new Map<Manner, PeerHost>();

const never = new Promise<never>(() => undefined);

/** Peers: one refuses, one answers signs of life and nothing that is work, one takes everything and keeps nothing. */
const answers: Readonly<Record<Manner, Answering>> = {
  lie: async () => await Promise.resolve({ done: false }),
  stall: async (query) => (query.case === 'missing' ? { done: true } : await never),
  rot: async () => await Promise.resolve({ done: true, data: Buffer.from('other bytes') }),
};

/** Clients: one refuses a file, one takes nothing of it, one takes it and ends without having done anything. */
function registering(manner: Manner): Register {
  return async function* (requests, { signal }) {
    yield* [];
    if (manner === 'lie') throw new ConnectError('not today', Code.FailedPrecondition);
    if (manner === 'stall') return void (signal.aborted || (await once(signal, 'abort')));
    for await (const _ of requests);
  };
}

/** Answers under the account of a node and at its addresses, instead of it. */
async function turn({ host, account: { key } }: RealNode, manner: Manner): Promise<void> {
  const place = { host, port: ports.p2p, what: 'a test', remedy: '' };
  const diagnostics = createDiagnostics();
  const logger = pino({ level: 'silent' });
  hosts.set(manner, await openPeerHost({ place, key, answering: answers[manner], diagnostics, logger }));
  const download = async function* () {
    yield* [];
    throw new ConnectError('never heard of it', Code.NotFound);
  };
  const register = registering(manner);
  const routes = connectNodeAdapter({ routes: (router) => router.service(CascadeService, { register, download }) });
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer(routes).on('session', (session) => sessions.add(session));
  await once(server.listen(ports.grpc, host), 'listening');
}

/** Opens the connections of strangers, each from an address that few share. */
async function besiege({ gatewayPort, honest, known, seed }: Extract<Order, { do: 'besiege' }>): Promise<void> {
  const random = randomOf(seed);
  await Promise.all(
    Array.from({ length: strangers }, async (_, index) => {
      const localAddress = `127.78.${Math.floor(index / 100)}.${1 + (index % 100)}`;
      const deed = random.pick(['drip', 'drip', 'unread', 'idle', 'form']);
      if (deed === 'form') {
        const socket = connect({ host: '127.0.0.1', port: gatewayPort, localAddress }).on('error', () => undefined);
        const head =
          'POST /api/v1/actions/cascade HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b';
        socket.write(`${head}\r\nContent-Length: 900000000\r\n\r\n--b\r\n`);
        return;
      }
      const host = random.pick(honest as [string, ...string[]]);
      // Whoever reads nothing takes none of the bytes that the connection would hold for it.
      const window = deed === 'unread' ? 0 : undefined;
      const session = await strangersSession({ host, port: ports.grpc }, localAddress, window);
      if (deed === 'drip') drippingUpload(session, Buffer.alloc(200_000, 's'), 500);
      if (deed === 'unread') unreadDownload(session, known);
    }),
  );
}

/** What hostile peers send to each honest node about a file that is being uploaded. */
async function attack({ honest, actionId, size }: Extract<Order, { do: 'attack' }>): Promise<void> {
  const lie = { actionId, dataHash: 'h'.repeat(44), size, pieces: [hashPiece(Buffer.from('none'))] };
  const asks = [
    { case: 'putManifest', value: encodeManifest(lie) },
    { case: 'putPiece', value: Buffer.alloc(pieceBytes, 'f') },
  ] as const;
  const sent = honest.flatMap(({ host: ip, account: { account } }) => {
    const peer = { account, ip, port: ports.p2p, isActive: true };
    return [...hosts.values()].flatMap((host) =>
      asks.map(async (ask) => await host.ask(peer, ask).catch(() => undefined)),
    );
  });
  await Promise.all(sent);
}

async function carryOut(order: Order): Promise<void> {
  switch (order.do) {
    case 'turn':
      return await turn(order.node, order.manner);
    case 'besiege':
      return await besiege(order);
    case 'attack':
      return await attack(order);
    case 'vanish':
      await hosts.get(order.manner)?.close();
      hosts.delete(order.manner);
  }
}

process.on('message', ({ number, order }: NumberedOrder) => {
  const reply = (failure?: string): void =>
    void process.send?.({ number, ...(failure !== undefined && { failure }) } satisfies Reply);
  carryOut(order).then(
    () => reply(),
    (caught: unknown) => reply(String(caught)),
  );
});
process.once('disconnect', () => process.exit(0));
