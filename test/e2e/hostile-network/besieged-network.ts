import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Ledger } from '../../../src/edges/ledger/run-ledger.ts';
import { castOf, type RealNode } from '../../../src/edges/local-network/cast.ts';
import { registerNodes } from '../../../src/edges/local-network/local-network.ts';
import { type NodesChild, startNodesChild } from '../../../src/edges/local-network/nodes/child.ts';
import type { HostPlan } from '../../../src/edges/local-network/nodes/orders.ts';
import type { Random } from '../../../src/edges/local-network/random.ts';
import { freshLog, seed, startLedger } from '../../edges/ledger/ledger-under-test.ts';
import { ports } from '../../edges/node/network-under-test.ts';
import { type Program, dataFolder, startProgram } from '../../support/programs/program.ts';
import { freshDatabase, freshNetwork, testNats } from '../../support/programs/servers.ts';
import { type StaleChain, staleChain } from '../../support/chains/stale-chain.ts';
import { startHostileSide } from './hostile-side.ts';
import type { Manner, Order } from './orders.ts';

/** So many of the nodes turn hostile, the first ones. */
const turning = 3;
/** Most bytes that a node may keep. */
export const storageBytes = 256 * 2 ** 20;

/**
 * Ten listed nodes and a gateway without a projector; all read the chain at an address that can fall behind.
 */
export type BesiegedNetwork = Readonly<{
  ledger: Ledger;
  chain: StaleChain;
  /** The first three are to turn hostile. */
  nodes: readonly RealNode[];
  /** The processes of the nodes: that of those which turn, and one for each of the others. */
  hosts: readonly NodesChild[];
  gateway: Program;
  storageFolder: (node: RealNode) => string;
  /** Ends a node; the hostile side answers under its account and at its addresses instead. */
  turn: (node: RealNode, manner: Manner) => Promise<void>;
  /** What the hostile side does besides. */
  hostile: (order: Exclude<Order, { do: 'turn' }>) => Promise<void>;
}>;

/** Opens the network; it ends with the stack. The order of its nodes follows from the seed. */
export async function besiegedNetwork(undo: AsyncDisposableStack, random: Random): Promise<BesiegedNetwork> {
  const order = tenNodes().map((node) => ({ node, at: random.fraction() }));
  const nodes = order.toSorted((a, b) => a.at - b.at).map(({ node }) => node);
  const { log } = undo.use(await freshLog());
  const ledger = undo.use(await startLedger(log));
  await registerNodes(ledger, nodes);
  const chain = await staleChain(ledger.url, undo);
  const hostile = startHostileSide(undo);
  const top = dataFolder();
  const folderOf = ({ moniker }: RealNode): string => path.join(top, moniker);
  const hosts = await Promise.all(
    nodes.slice(turning - 1).map(async () => {
      const child = await startNodesChild(planAt(chain.url));
      undo.defer(child.stop);
      return child;
    }),
  );
  // Those that turn share one process; each of the others has its own.
  const hostOf = (node: RealNode): NodesChild => {
    const host = hosts[Math.max(0, nodes.indexOf(node) - turning + 1)];
    if (!host) throw new Error('Each node has a process');
    return host;
  };
  const starting = nodes.map(async (node) => {
    const folder = folderOf(node);
    await mkdir(folder, { recursive: true });
    const keyFile = path.join(folder, 'key');
    await writeFile(keyFile, Buffer.from(node.account.key.bytes).toString('hex'));
    await hostOf(node).start({ host: node.host, ports, folder, keyFile });
  });
  const [gateway] = await Promise.all([gatewayAt(chain.url), ...starting]);
  return {
    ledger,
    chain,
    nodes,
    hosts,
    gateway,
    storageFolder: (node) => path.join(folderOf(node), 'storage'),
    turn: async (node, manner) => {
      await hostOf(node).stopNode(node.host);
      await hostile({ do: 'turn', node, manner });
    },
    hostile,
  };
}

const planAt = (chainUrl: string): HostPlan => ({
  chainUrl,
  profile: { restPrefix: '/LumeraProtocol/lumera', addressPrefix: 'lumera' },
  version: '0.0.0',
  snapshotMs: 1_000,
  secure: false,
  files: { storageBytes, maxFileBytes: 2 ** 30, copies: 3, repairAfterMs: 600_000, allowPrivate: true },
  log: { level: 'error', format: 'json' },
});

/** The nine of the local network and one of its script. */
function tenNodes(): RealNode[] {
  const subnet = `127.${1 + Math.floor(Math.random() * 250)}.${Math.floor(Math.random() * 250)}`;
  const { nodes, realNodes, creators } = castOf(seed, subnet);
  // A node's key is of the type that wallets of the virtual machine have.
  const account = creators.find(({ key }) => key.type === 'eth_secp256k1') ?? creators[0];
  const place = { host: `${subnet}.11`, address: `${subnet}.11:4444` };
  const tenth = nodes.slice(0, 1).map(({ operator, moniker }) => ({ operator, account, moniker, ...place }));
  return [...realNodes, ...tenth];
}

async function gatewayAt(chainUrl: string): Promise<Program> {
  const nats = new URL(testNats().url.includes('://') ? testNats().url : `nats://${testNats().url}`);
  const { host = '', port, user, database } = await freshDatabase();
  const env = {
    ROLES: 'gateway',
    NATS_URL: `nats://${testNats().user}:${testNats().pass}@${nats.host}`,
    DB_DSN: `postgres://${user}@localhost/${database}?host=${encodeURIComponent(host)}&port=${port}`,
    CHAIN_API_BASE: chainUrl,
    NODE_TRANSPORT: 'plain',
    NODE_PORTS: 'registered',
    // An upload that waited for the end of a silent attempt would not end in time.
    NODE_STALL_TIMEOUT: '60s',
    NODE_PROCESSING_TIMEOUT: '60s',
    PROBE_PRIVATE_ADDRESSES: 'allow',
    RATE_LIMIT: 'off',
  };
  return await startProgram({ dataDir: dataFolder(), network: freshNetwork(), env });
}

/** Resident memory of a process. */
export async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return 1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
}
