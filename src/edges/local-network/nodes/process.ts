/**
 * The process that hosts SuperNodes of the local network: carries out its parent's orders on their channel, and ends
 * with it.
 *
 * It receives Ctrl-C like every process of the terminal, and leaves the end to its parent.
 */
import { AppError, toAppError } from '../../../kit/errors.ts';
import { readKeyFile } from '../../chain/sign/key-file.ts';
import { createChainClient } from '../../chain/rest/client.ts';
import { openSharedBroker } from '../../../engine/archive/shared-broker.ts';
import type { Pools } from '../../../engine/models/pool.ts';
import type { Reader } from '../../../engine/models/read/reading.ts';
import { createLogger } from '../../../kit/logger.ts';
import { within } from '../../../kit/wait.ts';
import { startTracing } from '../../../kit/tracing/tracing.ts';
import { sampleProcessors } from '../../node/machine/processor.ts';
import { startNode, type RunningNode } from '../../node/start-node.ts';
import type { HostPlan, NodePlan, Numbered, Order, OrderReply } from './orders.ts';

type Stores = NonNullable<HostPlan['stores']>;
type Host = Readonly<{ start: (node: NodePlan) => Promise<RunningNode> }>;

const nodes = new Map<string, RunningNode>();
let hosting: Host | undefined;
let stopTracing = async (): Promise<void> => undefined;

async function hostOf(plan: HostPlan): Promise<Host> {
  const { chainUrl, profile, version, snapshotMs, secure, files, stores, log, tracing } = plan;
  const logger = createLogger(log);
  if (tracing) stopTracing = await startTracing(tracing, logger);
  const broker = stores && (await openSharedBroker({ ...stores, pools: () => poolsOf(stores) }));
  const shared = {
    log: broker?.log,
    models: stores && lazyReader(stores),
    chain: createChainClient(chainUrl, profile),
    addressPrefix: profile.addressPrefix,
    version,
    snapshotMs,
    secure,
    cascade: files,
    processor: sampleProcessors(new AbortController().signal),
    logger,
  };
  return {
    start: async ({ keyFile, ...node }) =>
      await startNode({ ...shared, ...node, key: await readKeyFile(keyFile, 'eth_secp256k1') }),
  };
}

async function poolsOf({ postgres, network }: Stores): Promise<Pools> {
  const { createPools } = await import('../../../engine/models/pool.ts');
  return createPools(postgres, { applicationName: `annals ${network} nodes` });
}

/** Reads the models of a network; the database is reached with the first read, for most processes see none. */
function lazyReader(stores: Stores): Pick<Reader, 'read'> {
  const open = async (): Promise<Reader> => {
    const { createReader } = await import('../../../engine/models/read/reading.ts');
    return createReader({ pools: await poolsOf(stores), network: stores.network });
  };
  let reader: Promise<Reader> | undefined;
  return { read: async (use) => await (await (reader ??= open())).read(use) };
}

async function carryOut(order: Order): Promise<Pick<OrderReply, 'ports' | 'observed'>> {
  switch (order.do) {
    case 'host':
      hosting = await hostOf(order.plan);
      return {};
    case 'start': {
      if (!hosting) throw new AppError('INTERNAL', 'The process was not told what its nodes share');
      const { host } = order.node;
      const node = nodes.get(host) ?? (await hosting.start(order.node));
      nodes.set(host, node);
      return { ports: node.ports };
    }
    case 'stop':
      await nodes.get(order.host)?.stop();
      nodes.delete(order.host);
      return {};
    case 'observe': {
      const all = [...nodes].map(async ([node, { observe }]) => ({ node, state: await observe() }));
      return { observed: await Promise.all(all) };
    }
  }
}

async function replyTo({ number, order }: Numbered): Promise<OrderReply> {
  try {
    return { number, ...(await carryOut(order)) };
  } catch (caught) {
    const { code, message } = toAppError(caught);
    return { number, failure: { code, message } };
  }
}

process.on('message', (message: Numbered) => void replyTo(message).then((reply) => process.send?.(reply)));
/** How long the end waits for a receiver of traces. */
const tracedWithinMs = 2000;
const exitTraced = async (): Promise<void> => {
  await within(tracedWithinMs, stopTracing(), 'The last spans are lost').catch(() => undefined);
  process.exit();
};
process.on('disconnect', () => void exitTraced());
process.on('SIGINT', () => undefined);
