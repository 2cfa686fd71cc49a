import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import type { Connection, Stream } from '@libp2p/interface';
import { AppError, toAppError } from '../../../kit/errors.ts';
import type { PrivateKey } from '../../chain/sign/keys.ts';
import {
  type Answer,
  AnswerSchema,
  type Credentials,
  type Question,
  QuestionSchema,
} from '../../gen/annals/peers/v1/peers_pb.ts';
import type { ListenAddress } from '../../../kit/listen.ts';
import type { Logger } from '../../../kit/logger.ts';
import { whileAwake } from '../../../kit/wait.ts';
import type { Diagnostics, PeerCall, CallOutcome } from '../status/diagnostics.ts';
import { accountIn, credentialsFor } from './credentials.ts';
import type { Peer } from './directory.ts';
import { readFrame, sendFrame } from './frames.ts';
import { createNode, dialler, type Heartbeat, start, streams } from './libp2p-node.ts';
import { type ConnectionBounds, createConnectionBounds } from './connection-bounds.ts';

/** A request of one node to another. */
export type PeerRequest = NonNullable<MessageInitShape<typeof QuestionSchema>['ask']>;
/** How a node answers another, whose account is proven. */
export type Answering = (query: Question['ask'], account: string) => Promise<MessageInitShape<typeof AnswerSchema>>;

/** A peer as its connection shows it: the port is one of its own choosing where it was the one that dialled. */
export type Remote = Pick<Peer, 'account' | 'ip' | 'port'>;

/** A node's port for its peers. */
export type PeerHost = Readonly<{
  port: number;
  /** Fails with `UNAVAILABLE` where the peer does not answer, or has another identity than on the chain. */
  ask: (peer: Peer, ask: PeerRequest) => Promise<Answer>;
  /** Peers that are connected and have proven their account, and what their connections come from. */
  connected: () => readonly Remote[];
  /** How many connections are open, and how many may be. */
  connections: () => Readonly<{ open_current: bigint; capacity: bigint }>;
  close: () => Promise<void>;
}>;

const protocol = '/annals/pieces/1.0.0';
const usualHandshakeMs = 30_000;
const usualAnswerMs = 30_000;
const usualConnections = 1024;
/** Of the first message of a connection, which proves an account. */
const unprovenBytes = 4096;

/**
 * The address of a node's peer port, its key and its answers; a handshake must end within `silenceMs`, a request be
 * answered within `answerMs`.
 */
export type HostOptions = Readonly<{
  place: ListenAddress;
  key: PrivateKey;
  answering: Answering;
  diagnostics: Pick<Diagnostics, 'handled' | 'pool'>;
  logger: Logger;
  silenceMs?: number;
  answerMs?: number;
  /** So many may be open at once, incoming and outgoing. */
  connections?: number;
  /**
   * Interval of heartbeats on a connection, and how long a peer may take to answer one before the connection is cut.
   */
  heartbeat?: Heartbeat;
  /** Whether the chain lists a node of an account; everybody is listed unless set. */
  isListed?: (account: string) => Promise<boolean>;
  /** Whether the chain lists a node at an address. */
  isListedAddress?: (ip: string) => boolean;
}>;

/** Opens the port for peers; fails with `UNAVAILABLE` that names it where it cannot be had. */
export async function openPeerHost({
  place,
  key,
  answering,
  diagnostics,
  logger,
  silenceMs = usualHandshakeMs,
  answerMs = usualAnswerMs,
  connections = usualConnections,
  heartbeat,
  isListed = async () => await Promise.resolve(true),
  isListedAddress = () => false,
}: HostOptions): Promise<PeerHost> {
  const bounds = createConnectionBounds({ proveMs: silenceMs, isListedAddress });
  const node = await createNode(place, { handshakeMs: silenceMs, connections, heartbeat, admit: bounds.admit });
  const credentials = credentialsFor(key, node.peerId.toString());
  const accounts = createAccounts();
  const serving = { credentials, accounts, bounds, isListed, answering, diagnostics, answerMs };
  await node.handle(
    protocol,
    (stream, connection) =>
      void serve(stream, { connection, ...serving }).catch((caught: unknown) => {
        logger.debug({ err: toAppError(caught) }, 'a peer was not answered');
        stream.abort(toAppError(caught));
      }),
    { maxInboundStreams: streams, maxOutboundStreams: streams },
  );
  node.addEventListener('connection:open', ({ detail }) => {
    if (detail.direction === 'outbound') bounds.dialled(detail);
  });
  await start(node, place);
  const requestOf = requesting(dialler(node, diagnostics), { credentials, accounts, bounds, answerMs });
  return {
    port: node.getMultiaddrs().map((one) => Number(/\/tcp\/(\d+)/.exec(one.toString())?.[1]))[0] ?? place.port,
    ask: async (peer, question) => {
      try {
        return await requestOf(peer, question);
      } catch (caught) {
        throw new AppError('UNAVAILABLE', `The peer ${peer.account} does not answer`, { cause: caught });
      }
    },
    connected: () => [...new Map(node.getConnections().flatMap((one) => remoteOf(one, accounts))).values()],
    connections: () => ({ open_current: BigInt(node.getConnections().length), capacity: BigInt(connections) }),
    close: async () => await node.stop(),
  };
}

type Requesting = Readonly<{
  credentials: Credentials;
  accounts: Accounts;
  bounds: ConnectionBounds;
  answerMs: number;
}>;

/**
 * Asks peers over connections that each end has proven its account on: the first message of one is short and asks for
 * nothing, because a peer takes no other from whom it does not know.
 */
function requesting(connect: (peer: Peer) => Promise<Connection>, options: Requesting): PeerHost['ask'] {
  const { credentials, accounts, bounds, answerMs } = options;
  const proofs = new WeakMap<Connection, Promise<Answer>>();
  const exchangeOver = async (connection: Connection, peer: Peer, ask?: PeerRequest): Promise<Answer> => {
    const question = create(QuestionSchema, ask === undefined ? { credentials } : { credentials, ask });
    const answer = await exchange(question, { peer, connection, accounts, answerMs });
    bounds.proven(connection, peer.account);
    return answer;
  };
  return async (peer, ask) => {
    const connection = await connect(peer);
    const proof = proofs.get(connection) ?? exchangeOver(connection, peer);
    proofs.set(connection, proof);
    await proof.catch((caught: unknown) => {
      proofs.delete(connection);
      throw caught;
    });
    return await exchangeOver(connection, peer, ask);
  };
}

type Accounts = Readonly<{
  /** The account that the other end of a connection has proven. */
  of: (connection: Connection) => string | undefined;
  /** The same, by its current answer. */
  prove: (credentials: Credentials | undefined, connection: Connection) => string | undefined;
}>;

/** Remembers which peer has proven which account: once for a connection, as each proof costs a millisecond. */
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

/** The other end of a connection, under its account; none for a peer that has proven none. */
function remoteOf(connection: Connection, accounts: Accounts): [string, Remote][] {
  const account = accounts.of(connection);
  const [, ip, port] = /^\/ip[46]\/([^/]+)\/tcp\/(\d+)/.exec(connection.remoteAddr.toString()) ?? [];
  return account === undefined || ip === undefined ? [] : [[account, { account, ip, port: Number(port) }]];
}

type Requested = Readonly<{
  connection: Connection;
  credentials: Credentials;
  accounts: Accounts;
  bounds: ConnectionBounds;
  isListed: (account: string) => Promise<boolean>;
  answering: Answering;
  diagnostics: Pick<Diagnostics, 'handled'>;
  answerMs: number;
}>;

/** Answers one stream; before its peer has proven a listed account a connection has one at a time, and a short one. */
async function serve(stream: Stream, requested: Requested): Promise<void> {
  const { connection, bounds, answerMs } = requested;
  const isKnown = bounds.isProven(connection);
  const isFirst = !isKnown && !introducing.has(connection);
  if (isFirst) introducing.add(connection);
  try {
    if (!isKnown && !isFirst) throw new Error('it has proven no account yet');
    await whileAwake(answerMs, undefined, async (signal) => {
      endWith(stream, signal);
      const question = fromBinary(QuestionSchema, await readFrame(stream, isKnown ? undefined : unprovenBytes));
      await answerOn(stream, { ...requested, question, signal });
    });
  } finally {
    if (isFirst) introducing.delete(connection);
  }
}

/** Ends a stream as the signal of its time aborts, and so whatever waits for it. */
function endWith(stream: Stream, signal: AbortSignal): void {
  signal.addEventListener('abort', () => stream.abort(new Error('it takes too long')), { once: true });
}

/** Connections whose first message is being read or answered. */
const introducing = new WeakSet<Connection>();

async function answerOn(
  stream: Stream,
  asked: Requested & Readonly<{ question: Question; signal: AbortSignal }>,
): Promise<void> {
  const { question, connection, credentials, accounts, answering, diagnostics, signal } = asked;
  const count = (outcome: CallOutcome): void => countCall(diagnostics, question.ask, outcome);
  try {
    const account = accounts.prove(question.credentials, connection);
    if (account !== undefined) await prove(asked, account);
    const answer: MessageInitShape<typeof AnswerSchema> =
      account === undefined || question.ask.case === undefined
        ? { done: false }
        : await inTime(signal, answering(question.ask, account));
    const long = answer.data && { number: AnswerSchema.field.data.number, bytes: answer.data };
    const short = create(AnswerSchema, { ...answer, credentials, data: new Uint8Array() });
    await sendFrame(stream, toBinary(AnswerSchema, short), signal, long);
    await stream.close({ signal });
    count(answer.done === true ? 'success' : 'failure');
  } catch (caught) {
    count(signal.aborted ? 'timeout' : 'failure');
    throw caught;
  }
}

/** Fails once the signal aborts, while the work goes on. */
async function inTime<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('The answer takes too long')), { once: true });
  });
  return await Promise.race([work, late]);
}

async function prove({ connection, bounds, isListed }: Requested, account: string): Promise<void> {
  if (bounds.isProven(connection)) return;
  // While the chain gives no answer nobody is known; the peer proves itself by its next question.
  if (await isListed(account).catch(() => false)) bounds.proven(connection, account);
}

function countCall({ handled }: Pick<Diagnostics, 'handled'>, ask: Question['ask'], outcome: CallOutcome): void {
  if (ask.case === undefined) return;
  const isPing = ask.case === 'missing' && ask.value.names.length === 0;
  handled(isPing ? 'Ping' : handlerOf[ask.case], outcome);
}

/** Names of the calls on the real network; an empty one only checks that the peer is there. */
const handlerOf = {
  putPiece: 'StoreData',
  putManifest: 'StoreData',
  getPiece: 'FindValue',
  getManifest: 'FindValue',
  missing: 'BatchFindValues',
} as const satisfies Readonly<Record<NonNullable<Question['ask']['case']>, PeerCall>>;

type Exchange = Readonly<{ peer: Peer; connection: Connection; accounts: Accounts; answerMs: number }>;

async function exchange(question: Question, { peer, connection, accounts, answerMs }: Exchange): Promise<Answer> {
  const { ask, credentials } = question;
  const long = ask.case === 'putPiece' ? { number: QuestionSchema.field.putPiece.number, bytes: ask.value } : undefined;
  const short = long ? create(QuestionSchema, { credentials }) : question;
  const answer = await whileAwake(answerMs, undefined, async (signal) => {
    const stream = await connection.newStream(protocol, { signal });
    endWith(stream, signal);
    await sendFrame(stream, toBinary(QuestionSchema, short), signal, long);
    const received = fromBinary(AnswerSchema, await readFrame(stream));
    await stream.close({ signal });
    return received;
  });
  if (accounts.prove(answer.credentials, connection) === peer.account) return answer;
  throw new AppError('UNAVAILABLE', `${peer.ip} does not speak for ${peer.account}`);
}
