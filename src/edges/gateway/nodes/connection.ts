import { type Client, createClient } from '@connectrpc/connect';
import { createTransport } from '@connectrpc/connect/protocol-grpc';
import { AppError } from '../../../kit/errors.ts';
import type { StoringNode } from '../../chain/files/chain.ts';
import { accountOf, type PrivateKey, publicKeyOf } from '../../chain/sign/keys.ts';
import { CascadeService } from '../../gen/cascade/service_pb.ts';
import { hostPort } from '../../../kit/net-address.ts';
import { createSlots, type Slots } from '../../../kit/slots.ts';
import type { Leasing } from '../../../engine/log/leases.ts';
import { callSpans } from '../../rpc/call-spans.ts';
import { type ClientFields, withLongFields } from '../../rpc/client-fields.ts';
import { dialChannel } from '../../rpc/channel/dial-channel.ts';
import type { KeySource } from '../gateway-key.ts';
import { whileAwake } from '../../../kit/wait.ts';
import { openSession } from './session.ts';

/** How nodes are spoken to; with a key, on the secure channel. */
export type Dialling = Readonly<{
  key: KeySource | undefined;
  /** Gateways that share a key take turns with a node by these. */
  leases?: Leasing;
  /** Real nodes lose handshakes of one account that come at the same moment: a process has one of these for its key. */
  handshakes: Handshakes;
  connectMs?: number;
}>;

/** One connection to one node, for one attempt. */
export type NodeConnection = Readonly<{
  client: Client<typeof CascadeService>;
  fields: ClientFields;
  close: () => void;
}>;

const usualConnectMs = 5_000;
/** A node's message may have so many. */
export const messageBytes = 16 * 2 ** 20;

/** Turns with one node, and how many hold or wait for one. */
type Turns = { slots: Slots; users: number };

/** Turns with nodes that have a handshake under way, by account. */
export type Handshakes = Map<string, Turns>;

/**
 * Opens a connection to a SuperNode, within 5 s of its turn; on the secure channel only to the account that the chain
 * names.
 *
 * One handshake at a time is under way with a node, among all gateways of the key. Fails with `UNAVAILABLE` or
 * `UNAUTHORIZED`. Nothing is compressed, in either direction.
 */
export async function connectNode(node: StoringNode, dialling: Dialling, signal: AbortSignal): Promise<NodeConnection> {
  const { handshakes } = dialling;
  const turns = handshakes.get(node.account) ?? { slots: createSlots(1, 'A connection to a SuperNode'), users: 0 };
  handshakes.set(node.account, turns);
  turns.users += 1;
  try {
    return await turns.slots.run(() => inTurn(node, dialling, signal), signal);
  } finally {
    turns.users -= 1;
    if (turns.users === 0) handshakes.delete(node.account);
  }
}

/** The same, once no other gateway of the key is at it. */
async function inTurn(node: StoringNode, dialling: Dialling, signal: AbortSignal): Promise<NodeConnection> {
  const { key, leases } = dialling;
  const own = await key?.();
  if (!own || !leases) return await open(node, { ...dialling, own }, signal);
  const opened: NodeConnection[] = [];
  await leases.hold(`handshake-${accountOf(publicKeyOf(own))}-${node.account}`, signal, async () => {
    // If the lease is lost, this runs again: close the first connection.
    opened.splice(0).forEach(({ close }) => close());
    opened.push(await open(node, { ...dialling, own }, signal));
  });
  const [connection] = opened;
  if (connection) return connection;
  throw new AppError('CANCELLED', `The connection to ${node.account} was given up before its turn came`);
}

type Shaking = Omit<Dialling, 'key' | 'handshakes'> & Readonly<{ own: PrivateKey | undefined }>;

async function open(node: StoringNode, dialling: Shaking, signal: AbortSignal): Promise<NodeConnection> {
  const { own, connectMs = usualConnectMs } = dialling;
  return await whileAwake(connectMs, signal, async (inTime) => await openWithin(node, own, inTime));
}

async function openWithin(
  { ip: host, port, account }: StoringNode,
  own: PrivateKey | undefined,
  inTime: AbortSignal,
): Promise<NodeConnection> {
  const stream = own && (await dialChannel({ host, port, account }, own, inTime));
  const baseUrl = stream ? 'http://node' : `http://${hostPort(host, port)}`;
  const session = await openSession(baseUrl, stream, inTime).catch((caught: unknown) => {
    stream?.destroy();
    throw new AppError('UNAVAILABLE', `${hostPort(host, port)} does not answer`, { cause: caught });
  });
  const close = (): void => {
    session.close();
    stream?.destroy();
  };
  const { client: httpClient, fields } = withLongFields(session.httpClient);
  const transport = createTransport({
    baseUrl,
    httpClient,
    useBinaryFormat: true,
    interceptors: [...callSpans()],
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: 0,
    readMaxBytes: messageBytes,
    writeMaxBytes: messageBytes,
  });
  return { client: createClient(CascadeService, transport), fields, close };
}
