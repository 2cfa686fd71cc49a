import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type ServerHttp2Session } from 'node:http2';
import { create, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { createDataHasher } from '../../../src/edges/chain/files/data-hash.ts';
import { signText } from '../../../src/edges/chain/files/signatures.ts';
import { accountOf, type PrivateKey, publicKeyOf } from '../../../src/edges/chain/sign/keys.ts';
import { CascadeService, SupernodeEventType } from '../../../src/edges/gen/cascade/service_pb.ts';
import { CascadeMetadataSchema } from '../../../src/edges/gen/chain/action/v1/metadata_pb.ts';
import { startChainStub } from '../chains/chain-stub.ts';
import { accountOf as accountNamed } from '../chains/chain-stub-state.ts';

/** What the SuperNode has done by the time that the gateway is killed, uploads first. */
export const nodePoints = {
  upload: ['was asked to take the file', 'has taken the file', 'has told of the file', 'has finalized the action'],
  download: ['was asked for the file', 'has sent half of the file'],
} as const;

/** One of them. */
export type NodePoint = (typeof nodePoints)[keyof typeof nodePoints][number];

/** A chain and one SuperNode that every gateway finds there, however often it is killed. */
export type KillWorld = Readonly<{
  chainUrl: string;
  bytes: Buffer;
  /** A new public action over the bytes, as clients upload to it. */
  newAction: (
    state: 'PENDING' | 'DONE',
  ) => Readonly<{ action: string; signature: string; dataHash: string; bytes: Buffer }>;
  /** Has the node stand still once, until its caller is gone; settles when it does. */
  standStill: (point: NodePoint) => Promise<void>;
  close: () => Promise<void>;
}>;

const key: PrivateKey = { type: 'eth_secp256k1', bytes: new Uint8Array(32).fill(7) };
const size = 2 ** 21;

/** Starts both. */
export async function openKillWorld(): Promise<KillWorld> {
  const bytes = Buffer.alloc(size, 'the bytes of a file ');
  const hasher = await createDataHasher();
  hasher.update(bytes);
  const dataHash = hasher.digest();
  const states = new Map<string, string>();
  let standing: Readonly<{ point: NodePoint; reached: () => void }> | undefined;
  const pass = async (point: NodePoint, signal: AbortSignal): Promise<void> => {
    if (standing?.point !== point) return;
    standing.reached();
    standing = undefined;
    if (!signal.aborted) await once(signal, 'abort');
    throw new ConnectError('the caller is gone', Code.Canceled);
  };
  const finalize = (action: string): void => void states.set(action, 'DONE');
  const { address, close: closeNode } = await serveNode(nodeOf({ bytes, pass, finalize }));
  const stub = await startChainStub();
  stub.faults.instead = ({ pathname }, good) => {
    const id = /get_action\/(\d+)$/.exec(pathname)?.[1] ?? '';
    const state = states.get(id);
    if (state !== undefined) return { status: 200, body: { action: recordOf(id, state, dataHash) } };
    if (pathname.includes('get_top_super_nodes')) return { status: 200, body: { supernodes: [superNodeAt(address)] } };
    if (pathname.includes('/auth/v1beta1/accounts/'))
      return { status: 200, body: { account: { pub_key: publicKey() } } };
    return good();
  };
  return {
    chainUrl: stub.url,
    bytes,
    newAction: (state) => {
      const action = String(1_000_000 + states.size);
      states.set(action, state);
      return { action, signature: signText(key, dataHash), dataHash, bytes };
    },
    standStill: async (point) => await new Promise((reached) => (standing = { point, reached })),
    close: async () => {
      closeNode();
      await stub.stop();
    },
  };
}

type Deeds = Readonly<{
  bytes: Buffer;
  pass: (point: NodePoint, signal: AbortSignal) => Promise<void>;
  finalize: (action: string) => void;
}>;

function nodeOf({ bytes, pass, finalize }: Deeds): ServiceImpl<typeof CascadeService> {
  const chunk = (data: Uint8Array) => ({ responseType: { case: 'chunk' as const, value: { data } } });
  return {
    async *download(_request, { signal }) {
      await pass('was asked for the file', signal);
      yield chunk(bytes.subarray(0, size / 2));
      await pass('has sent half of the file', signal);
      yield chunk(bytes.subarray(size / 2));
    },
    async *register(requests, { signal }) {
      await pass('was asked to take the file', signal);
      const parts: Uint8Array[] = [];
      let action = '';
      for await (const { requestType } of requests)
        if (requestType.case === 'chunk') parts.push(requestType.value.data);
        else action = requestType.value?.actionId ?? '';
      if (!Buffer.concat(parts).equals(bytes)) throw new ConnectError('other bytes', Code.InvalidArgument);
      await pass('has taken the file', signal);
      yield { eventType: SupernodeEventType.ACTION_RETRIEVED, message: 'retrieved' };
      await pass('has told of the file', signal);
      finalize(action);
      await pass('has finalized the action', signal);
      yield { eventType: SupernodeEventType.ACTION_FINALIZED, message: 'done', txHash: 'AB'.repeat(32) };
    },
  };
}

async function serveNode(node: ServiceImpl<typeof CascadeService>) {
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer(connectNodeAdapter({ routes: (router) => router.service(CascadeService, node) }));
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { address, port } = server.address() as AddressInfo;
  return {
    address: `${address}:${port}`,
    close: () => {
      for (const session of sessions) session.destroy();
      server.close();
    },
  };
}

function publicKey(): Readonly<{ '@type': string; key: string }> {
  return { '@type': '/cosmos.evm.crypto.v1.ethsecp256k1.PubKey', key: publicKeyOf(key).key };
}

function superNodeAt(address: string) {
  return {
    states: [{ state: 'SUPERNODE_STATE_ACTIVE', height: '1', reason: '' }],
    prev_ip_addresses: [{ address, height: '1' }],
    supernode_account: accountNamed('node'),
    prev_supernode_accounts: [],
  };
}

function recordOf(id: string, state: string, dataHash: string) {
  const metadata = create(CascadeMetadataSchema, { dataHash, fileName: 'a.bin', signatures: 'a.b', public: true });
  return {
    creator: accountOf(publicKeyOf(key)),
    actionID: id,
    actionType: 'ACTION_TYPE_CASCADE',
    metadata: Buffer.from(toBinary(CascadeMetadataSchema, metadata)).toString('base64'),
    price: '10060ulume',
    expirationTime: '4000000000',
    state: `ACTION_STATE_${state}`,
    blockHeight: '1',
    superNodes: [],
    fileSizeKbs: String(size / 1024),
    app_pubkey: null,
  };
}
