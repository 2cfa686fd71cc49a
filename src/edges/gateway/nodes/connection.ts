import { type Client, createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import type { StoringNode } from '../../cascade/chain.ts';
import type { PrivateKey } from '../../cosmos/keys.ts';
import { CascadeService } from '../../gen/cascade/service_pb.ts';
import { hostPort } from '../../kit/net-address.ts';
import { dialChannel } from '../../rpc/channel/dial-channel.ts';

/** The port of every SuperNode for files. */
export const nodePort = 4444;

/** How nodes are spoken to; with a key, on the secure channel. */
export type Dialling = Readonly<{ key: PrivateKey | undefined; port?: number; connectMs?: number }>;

/** One connection to one node, for one attempt. */
export type NodeConnection = Readonly<{ client: Client<typeof CascadeService>; close: () => void }>;

const usualConnectMs = 5_000;
const messageBytes = 16 * 2 ** 20;

/**
 * Opens a connection to a SuperNode; on the secure channel only to the account that the chain names.
 *
 * Fails with `UNAVAILABLE` or `UNAUTHORIZED`; the plain one fails with its first call. Nothing is compressed, in either
 * direction.
 */
export async function connectNode(node: StoringNode, dialling: Dialling, signal: AbortSignal): Promise<NodeConnection> {
  const { key, port = nodePort, connectMs = usualConnectMs } = dialling;
  const target = { host: node.ip, port, account: node.account };
  const stream = key && (await dialChannel(target, key, AbortSignal.any([signal, AbortSignal.timeout(connectMs)])));
  const baseUrl = stream ? 'http://node' : `http://${hostPort(node.ip, port)}`;
  const sessionManager = new Http2SessionManager(baseUrl, {}, stream ? { createConnection: () => stream } : {});
  const transport = createGrpcTransport({
    baseUrl,
    sessionManager,
    acceptCompression: [],
    readMaxBytes: messageBytes,
  });
  return {
    client: createClient(CascadeService, transport),
    close: () => {
      sessionManager.abort();
      stream?.destroy();
    },
  };
}
