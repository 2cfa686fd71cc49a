import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createFileHasher } from '../../../src/edges/chain/files/data-hash.ts';
import { accountOf, publicKeyOf, sign } from '../../../src/edges/chain/sign/keys.ts';
import { CascadeMetadataSchema } from '../../../src/edges/gen/chain/action/v1/metadata_pb.ts';
import { creatorKey } from '../../edges/gateway/gateway-under-test.ts';
import { goodNode, historyOf, type Misdeed, serveNodes, taken } from '../../edges/gateway/nodes-under-test.ts';
import { type ChainStub, startChainStub } from '../../support/chains/chain-stub.ts';
import { accountOf as accountNamed } from '../../support/chains/chain-stub-state.ts';
import { dataFolder, type Program, startProgram } from '../../support/programs/program.ts';
import { freshDatabase, freshNetwork, testNats } from '../../support/programs/servers.ts';
import { type Json, postJson, streamed, upload } from './gateway-client.ts';

const bytes = randomBytes(300_000);
const creator = publicKeyOf(creatorKey);
const signed = (text: string) => Buffer.from(sign(creatorKey, Buffer.from(text)).subarray(0, 64)).toString('base64');

let stub: ChainStub;
beforeAll(async () => (stub = await startChainStub()));
afterAll(async () => await stub.stop());

/** A chain with actions to upload (1 and 4), a public file (2) and a private one (3), all stored by one node. */
async function tellOf(node: string, finalized: ReadonlySet<string>): Promise<string> {
  const hasher = await createFileHasher();
  hasher.update(bytes);
  const [dataHash] = hasher.digests();
  const recordOf = (id: string) => {
    const metadata = create(CascadeMetadataSchema, {
      dataHash,
      fileName: 'a.bin',
      signatures: 'a.b',
      public: id === '2',
    });
    return {
      creator: accountOf(creator),
      actionID: id,
      actionType: 'ACTION_TYPE_CASCADE',
      metadata: Buffer.from(toBinary(CascadeMetadataSchema, metadata)).toString('base64'),
      price: '10060ulume',
      expirationTime: '4000000000',
      state: '14'.includes(id) && !finalized.has(id) ? 'ACTION_STATE_PENDING' : 'ACTION_STATE_DONE',
      blockHeight: '1',
      superNodes: [],
      fileSizeKbs: '293',
      app_pubkey: null,
    };
  };
  const account = accountNamed('node');
  const supernode = {
    states: [{ state: 'SUPERNODE_STATE_ACTIVE', height: '1', reason: '' }],
    prev_ip_addresses: [{ address: node, height: '1' }],
    supernode_account: account,
    prev_supernode_accounts: [],
  };
  const key = { '@type': '/cosmos.evm.crypto.v1.ethsecp256k1.PubKey', key: creator.key };
  stub.faults.instead = ({ pathname }, good) => {
    const id = /get_action\/([1-4])$/.exec(pathname)?.[1];
    if (id !== undefined) return { status: 200, body: { action: recordOf(id) } };
    if (pathname.includes('get_top_super_nodes')) return { status: 200, body: { supernodes: [supernode] } };
    if (pathname.includes('/auth/v1beta1/accounts/')) return { status: 200, body: { account: { pub_key: key } } };
    return good();
  };
  return dataHash;
}

/** A process with a gateway over stores that others have as well. */
async function gatewayOf(roles: string, shared: Readonly<Record<string, string>>, network: string) {
  const program = await startProgram({ dataDir: dataFolder(), network, env: { ...shared, ROLES: roles } });
  return { program, url: program.instance.urls['gateway'] ?? '' };
}

async function stores(): Promise<Record<string, string>> {
  const nats = new URL(testNats().url.includes('://') ? testNats().url : `nats://${testNats().url}`);
  const { host = '', port, user, database } = await freshDatabase();
  return {
    NATS_URL: `nats://${testNats().user}:${testNats().pass}@${nats.host}`,
    DB_DSN: `postgres://${user}@localhost/${database}?host=${encodeURIComponent(host)}&port=${port}`,
    TRANSFER_DIR: dataFolder(),
    CHAIN_API_BASE: stub.url,
    NODE_TRANSPORT: 'plain',
    NODE_PORTS: 'registered',
    PROBE_PRIVATE_ADDRESSES: 'allow',
  };
}

/** As long as `held` says, this node takes what it is sent and answers nothing. */
function holdingNode(held: Readonly<{ now: boolean }>, seen: string[]): Misdeed {
  const good = goodNode(bytes);
  return () => ({
    async *download(request, context) {
      seen.push('download');
      if (held.now) await pause(600_000, undefined, { ref: false, signal: context.signal });
      yield* good.download(request, context);
    },
    async *register(requests, context) {
      seen.push('register');
      if (held.now) {
        await taken(requests);
        await pause(600_000, undefined, { ref: false, signal: context.signal });
      }
      yield* good.register(requests, context);
    },
  });
}

it(
  'a gateway shows every history of one that was killed, and takes up what it can',
  { tags: ['S3.two.killed', 'S3.two.uploads', 'S3.two.downloads', 'S3.restart.sigterm', 'S3.lists'] },
  async () => {
    const [held, seen] = [{ now: true }, [] as string[]];
    const finalized = new Set<string>();
    const [node] = await serveNodes(goodNode(bytes), [holdingNode(held, seen)], (id) => void finalized.add(id));
    const dataHash = await tellOf(`${node?.ip}:${node?.port}`, finalized);
    const [shared, network] = [await stores(), freshNetwork()];
    const other = await gatewayOf('gateway,projector', shared, network);
    const first = await gatewayOf('gateway', shared, network);
    const ready = async ({ program }: Readonly<{ program: Program }>) => await program.untilReady();
    await Promise.all([ready(other), ready(first)]);

    const actions = `${first.url}/api/v1/actions/cascade`;
    const file = { action: '1', signature: signed(dataHash), dataHash, bytes };
    const { task_id: uploaded } = (await (await upload(actions, file)).json()) as Json;
    const { task_id: open } = await postJson(`${actions}/2/downloads?public=true`, {});
    const { task_id: closed } = await postJson(`${actions}/3/downloads`, { signature: signed('3') });
    await expect.poll(() => seen.toSorted(), { timeout: 20_000 }).toEqual(['download', 'download', 'register']);
    await first.program.kill();
    held.now = false;

    const endOf = async (kind: 'uploads' | 'downloads', id: unknown) => {
      const history = await historyOf(other.url, kind, String(id));
      expect(history.map((event) => (event as unknown as Json)['id'])).toEqual(history.map((_, at) => String(at + 1)));
      return history.at(-1);
    };
    expect(await endOf('uploads', uploaded)).toMatchObject({ status: 'sdk:completed' });
    expect(await endOf('downloads', open)).toMatchObject({ status: 'sdk:completed' });
    expect(await endOf('downloads', closed)).toMatchObject({ status: 'sdk:failed', data: { code: 'GONE' } });
    const frames = await streamed(`${other.url}/api/v1/downloads/cascade/${String(open)}/status`);
    expect(frames.at(-1)?.name).toBe('sdk:completed');
    const fetched = await fetch(`${other.url}/api/v1/downloads/cascade/${String(open)}/file`);
    expect(Buffer.from(await fetched.arrayBuffer()).equals(bytes)).toBe(true);

    const listedIn = async (path: string): Promise<unknown[]> => {
      const { requests } = (await (await fetch(`${other.url}/api/v1/${path}`)).json()) as { requests: Json[] };
      return requests.map(({ task_id, action_id, status }) => [task_id, action_id, status]);
    };
    const ofPublic = [open, '2', 'sdk:completed'];
    await expect.poll(async () => await listedIn('downloads/cascade/tasks'), { timeout: 20_000 }).toEqual([ofPublic]);
    expect(await listedIn('downloads/cascade/tasks?action_id=3')).toEqual([]);
    expect(await listedIn('actions/cascade/tasks')).toEqual([[uploaded, '1', 'sdk:completed']]);

    held.now = true;
    seen.length = 0;
    expect((await upload(`${other.url}/api/v1/actions/cascade`, { ...file, action: '4' })).status).toBe(202);
    const { task_id: late } = await postJson(`${other.url}/api/v1/actions/cascade/2/downloads?public=true`, {});
    const status = `${other.url}/api/v1/downloads/cascade/${String(late)}/status`;
    const watched = await fetch(status);
    await expect.poll(() => seen.includes('register'), { timeout: 20_000 }).toBe(true);
    // A program that does not stop in time is killed, and has no status then.
    expect(await other.program.stop()).toBe(0);
    expect(await watched.text()).not.toMatch(/^event:/m);
  },
);
