import { type Client, createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { AppError } from '../../../commands/errors.ts';
import type { StoringNode } from '../../cascade/chain.ts';
import { CascadeService } from '../../gen/cascade/service_pb.ts';
import { hostPort } from '../../kit/net-address.ts';
import { createSlots, type Slots } from '../../kit/slots.ts';
import { dialChannel } from '../../rpc/channel/dial-channel.ts';
import type { KeySource } from '../gateway-key.ts';

/** The port of every SuperNode for files. */
export const nodePort = 4444;

/** How nodes are spoken to; with a key, on the secure channel. */
export type Dialling = Readonly<{ key: KeySource | undefined; port?: number; connectMs?: number }>;

/** One connection to one node, for one attempt. */
export type NodeConnection = Readonly<{ client: Client<typeof CascadeService>; close: () => void }>;

const usualConnectMs = 5_000;
const messageBytes = 16 * 2 ** 20;

/** Real nodes lose handshakes of one account that come at the same moment, so each has its turn. */
const handshakes = new Map<string, Slots>();
const rememberedNodes = 1_000;

/**
 * Opens a connection to a SuperNode, within 5 s of its turn; on the secure channel only to the account that the chain
 * names.
 *
 * One handshake at a time is under way with a node. Fails with `UNAVAILABLE` or `UNAUTHORIZED`. Nothing is compressed,
 * in either direction.
 */
export async function connectNode(node: StoringNode, dialling: Dialling, signal: AbortSignal): Promise<NodeConnection> {
  if (handshakes.size > rememberedNodes) handshakes.clear();
  const turns = handshakes.get(node.account) ?? createSlots(1, 'A connection to a SuperNode');
  handshakes.set(node.account, turns);
  return await turns.run(() => open(node, dialling, signal), signal);
}

async function open(node: StoringNode, dialling: Dialling, signal: AbortSignal): Promise<NodeConnection> {
  const { key, port = nodePort, connectMs = usualConnectMs } = dialling;
  const own = await key?.();
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(connectMs)]);
  const stream = own && (await dialChannel({ host: node.ip, port, account: node.account }, own, inTime));
  const baseUrl = stream ? 'http://node' : `http://${hostPort(node.ip, port)}`;
  const sessionManager = new Http2SessionManager(baseUrl, {}, stream ? { createConnection: () => stream } : {});
  const close = (): void => {
    sessionManager.abort();
    stream?.destroy();
  };
  const late = Promise.withResolvers<'late'>();
  inTime.addEventListener('abort', () => late.resolve('late'), { once: true });
  if (inTime.aborted) late.resolve('late');
  const state = await Promise.race([sessionManager.connect(), late.promise]);
  if (state === 'late' || state === 'error') {
    close();
    throw new AppError('UNAVAILABLE', `${hostPort(node.ip, port)} does not answer`);
  }
  const options = { baseUrl, sessionManager, acceptCompression: [], readMaxBytes: messageBytes };
  return { client: createClient(CascadeService, createGrpcTransport(options)), close };
}
