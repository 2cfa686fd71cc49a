import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { noise } from '@chainsafe/libp2p-noise';
import { yamux } from '@chainsafe/libp2p-yamux';
import { identify } from '@libp2p/identify';
import type { Connection, Stream } from '@libp2p/interface';
import { ping } from '@libp2p/ping';
import { tcp } from '@libp2p/tcp';
import { multiaddr } from '@multiformats/multiaddr';
import { createLibp2p } from 'libp2p';
import { AppError, toAppError } from '../../../commands/errors.ts';
import type { PrivateKey } from '../../cosmos/keys.ts';
import {
  type Answer,
  AnswerSchema,
  type Credentials,
  type Question,
  QuestionSchema,
} from '../../gen/annals/peers/v1/peers_pb.ts';
import type { Place } from '../../kit/listen.ts';
import type { Logger } from '../../kit/logger.ts';
import { accountIn, credentialsFor } from './credentials.ts';
import type { Peer } from './directory.ts';
import { readFrame, sendFrame } from './frames.ts';

/** What one node asks another. */
export type Ask = NonNullable<MessageInitShape<typeof QuestionSchema>['ask']>;
/** How a node answers another, whose account is proven. */
export type Answering = (ask: Question['ask'], account: string) => Promise<MessageInitShape<typeof AnswerSchema>>;

/** A node's port for its peers. */
export type PeerHost = Readonly<{
  port: number;
  /** Fails with `UNAVAILABLE` where the peer does not answer, or is not who the chain says. */
  ask: (peer: Peer, ask: Ask) => Promise<Answer>;
  /** Peers that are connected and have proven their account: `account@ip:port`. */
  connected: () => readonly string[];
  close: () => Promise<void>;
}>;

const protocol = '/annals/pieces/1.0.0';
const usualHandshakeMs = 30_000;
const dialMs = 5_000;
const answerMs = 30_000;
const connections = 1024;
const perSecond = 200;
const streams = 64;

/** Where a node answers its peers, as whom and how; a connection must have shaken hands after `silenceMs`. */
export type HostOptions = Readonly<{
  place: Place;
  key: PrivateKey;
  answering: Answering;
  logger: Logger;
  silenceMs?: number;
}>;

/** Opens the port for peers; fails with `UNAVAILABLE` that names it where it cannot be had. */
export async function openPeerHost({
  place,
  key,
  answering,
  logger,
  silenceMs = usualHandshakeMs,
}: HostOptions): Promise<PeerHost> {
  const node = await createNode(place, silenceMs);
  const credentials = credentialsFor(key, node.peerId.toString());
  const accounts = createAccounts();
  await node.handle(
    protocol,
    (stream, connection) =>
      void serve(stream, { connection, credentials, accounts, answering }).catch((caught: unknown) => {
        logger.debug({ err: toAppError(caught) }, 'a peer was not answered');
        stream.abort(toAppError(caught));
      }),
    { maxInboundStreams: streams, maxOutboundStreams: streams },
  );
  await start(node, place);
  const connect = dialler(node);
  return {
    port: node.getMultiaddrs().map((one) => Number(/\/tcp\/(\d+)/.exec(one.toString())?.[1]))[0] ?? place.port,
    ask: async (peer, ask) => {
      try {
        const question = create(QuestionSchema, { credentials, ask });
        return await exchange(question, { peer, connection: await connect(peer), accounts });
      } catch (caught) {
        throw new AppError('UNAVAILABLE', `The peer ${peer.account} does not answer`, { cause: caught });
      }
    },
    connected: () => [...new Map(node.getConnections().flatMap((one) => addressed(one, accounts))).values()],
    close: async () => await node.stop(),
  };
}

type Node = Awaited<ReturnType<typeof createNode>>;

/** A libp2p node that listens to nobody yet; its peer id is new with each start. */
async function createNode({ host, port }: Place, handshakeMs: number) {
  return await createLibp2p({
    start: false,
    addresses: { listen: [addressOf(host, port)] },
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    services: { identify: identify(), ping: ping() },
    connectionMonitor: { enabled: false },
    connectionManager: {
      maxConnections: connections,
      inboundConnectionThreshold: perSecond,
      maxIncomingPendingConnections: perSecond,
      inboundUpgradeTimeout: handshakeMs,
      reconnectRetries: 0,
    },
  });
}

type Accounts = Readonly<{
  /** The account that the other end of a connection has proven. */
  of: (connection: Connection) => string | undefined;
  /** The same, after what it says now. */
  prove: (credentials: Credentials | undefined, connection: Connection) => string | undefined;
}>;

/** Remembers who has proven which account: once for a connection, as each proof costs a millisecond. */
function createAccounts(): Accounts {
  const proven = new WeakMap<Connection, string>();
  return {
    of: (connection) => proven.get(connection),
    prove: (credentials, connection) => {
      const account = proven.get(connection) ?? accountIn(credentials, connection.remotePeer.toString());
      if (account !== undefined) proven.set(connection, account);
      return account;
    },
  };
}

/** An account and the address that it is connected from; none for a peer that has proven none. */
function addressed(connection: Connection, accounts: Accounts): [string, string][] {
  const account = accounts.of(connection);
  const [, ip, port] = /^\/ip[46]\/([^/]+)\/tcp\/(\d+)/.exec(connection.remoteAddr.toString()) ?? [];
  return account === undefined || ip === undefined ? [] : [[account, `${account}@${ip}:${port}`]];
}

/** One connection for each peer, dialled when it is needed. */
function dialler(node: Node): (peer: Peer) => Promise<Connection> {
  const open = new Map<string, Promise<Connection>>();
  return async (peer) => {
    const before = open.get(peer.account);
    const known = await before?.catch(() => undefined);
    if (known?.status === 'open') return known;
    const meanwhile = open.get(peer.account);
    if (meanwhile && meanwhile !== before) return await meanwhile;
    const dialling = node.dial(multiaddr(addressOf(peer.ip, peer.port)), { signal: AbortSignal.timeout(dialMs) });
    open.set(peer.account, dialling);
    return await dialling;
  };
}

type Asked = Readonly<{
  connection: Connection;
  credentials: Credentials;
  accounts: Accounts;
  answering: Answering;
}>;

async function serve(stream: Stream, { connection, credentials, accounts, answering }: Asked): Promise<void> {
  const signal = AbortSignal.timeout(answerMs);
  const late = (): void => stream.abort(new Error('it takes too long'));
  signal.addEventListener('abort', late);
  try {
    const question = fromBinary(QuestionSchema, await readFrame(stream));
    const account = accounts.prove(question.credentials, connection);
    const answer = account === undefined ? { done: false } : await answering(question.ask, account);
    await sendFrame(stream, toBinary(AnswerSchema, create(AnswerSchema, { ...answer, credentials })), signal);
    await stream.close({ signal });
  } finally {
    signal.removeEventListener('abort', late);
  }
}

type Exchange = Readonly<{ peer: Peer; connection: Connection; accounts: Accounts }>;

async function exchange(question: Question, { peer, connection, accounts }: Exchange): Promise<Answer> {
  const signal = AbortSignal.timeout(answerMs);
  const stream = await connection.newStream(protocol, { signal });
  const late = (): void => stream.abort(new Error('it takes too long'));
  signal.addEventListener('abort', late);
  try {
    await sendFrame(stream, toBinary(QuestionSchema, question), signal);
    const answer = fromBinary(AnswerSchema, await readFrame(stream));
    await stream.close({ signal });
    if (accounts.prove(answer.credentials, connection) === peer.account) return answer;
  } finally {
    signal.removeEventListener('abort', late);
  }
  throw new AppError('UNAVAILABLE', `${peer.ip} does not speak for ${peer.account}`);
}

async function start(node: { start: () => void | Promise<void> }, place: Place): Promise<void> {
  try {
    await node.start();
  } catch (caught) {
    const { host, port, what, remedy } = place;
    throw new AppError('UNAVAILABLE', `Port ${port} of ${host} cannot be opened for ${what}. ${remedy}`, {
      cause: caught,
    });
  }
}

function addressOf(host: string, port: number): string {
  return `/${host.includes(':') ? 'ip6' : 'ip4'}/${host}/tcp/${port}`;
}
