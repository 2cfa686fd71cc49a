import { toAppError } from '../../commands/errors.ts';
import { failureOf } from '../kit/failure.ts';
import { playActivity } from './activity.ts';
import type { ActivityOptions } from './activity.ts';
import { answering, type Cast, castOf } from './cast.ts';
import { createLocalNode, type LocalNode, type NodePorts } from './node.ts';
import { randomOf } from './random.ts';
import { wait } from '../kit/wait.ts';

/** The ports that SuperNodes have everywhere. */
export const nodePorts: NodePorts = { grpc: 4444, p2p: 4445, http: 8002 };

/** What a local network plays on; `ports` stand in for the probed ones. */
export type LocalNetworkOptions = ActivityOptions & Readonly<{ ports?: NodePorts }>;

/** A running local network. */
export type LocalNetwork = Readonly<{
  nodes: readonly LocalNode[];
  /** Rejects when nothing happens there any more; never resolves. */
  failed: Promise<never>;
  stop: () => Promise<void>;
}>;

const versions = ['v2.6.2', 'v2.6.2', 'v2.6.1'];
const firstOutage = { afterMs: 70_000, forMs: 75_000 };

/**
 * Starts the SuperNodes of the local network, the activity on its chain, and now and then an outage of a node.
 *
 * Resolves once the history of the chain is in the log. The chain is a ledger that began with `localBeginning` of the same seed. Fails with `UNAVAILABLE` when a port cannot be had.
 *
 * @example await startLocalNetwork({ ledger, seed: 1, logger, signal })
 */
export async function startLocalNetwork(options: LocalNetworkOptions): Promise<LocalNetwork> {
  const { seed } = options;
  const own = new AbortController();
  const signal = AbortSignal.any([options.signal, own.signal]);
  const nodes = nodesOf(castOf(seed, options.subnet), seed, options.ports ?? nodePorts);
  const goDown = async (): Promise<void> => void (await Promise.all(nodes.map((node) => node.goDown())));
  try {
    for (const node of nodes) await node.goUp();
  } catch (caught) {
    await goDown();
    throw caught;
  }
  const history = Promise.withResolvers<void>();
  const work = [
    playActivity({ ...options, signal, onHistory: history.resolve }),
    playOutages(nodes, { ...options, signal }),
  ];
  const failed = failureOf(work, signal);
  await Promise.race([history.promise, ...work]);
  return {
    nodes,
    failed,
    stop: async () => {
      own.abort();
      await goDown();
      await Promise.allSettled(work);
    },
  };
}

function nodesOf(cast: Cast, seed: number, ports: NodePorts): LocalNode[] {
  const random = randomOf(`${seed}/nodes`);
  const all = cast.nodes.slice(0, answering);
  return all.map(({ address }, index) => {
    const others = all.filter((other) => other.address !== address);
    const peers = others.map((other) => `${other.accounts[0].account}@${hostOf(other.address)}:${ports.p2p}`);
    const identity = { address, version: versions[index] ?? 'v2.6.2', peers, variation: 0.9 + random.fraction() / 10 };
    return createLocalNode({ host: hostOf(address), ports, identity });
  });
}

function hostOf(address: string): string {
  return address.replace(/:\d+$/, '');
}

/** One node at a time goes down and comes back, every few minutes. */
async function playOutages(nodes: readonly LocalNode[], { seed, logger, signal }: ActivityOptions): Promise<void> {
  const random = randomOf(`${seed}/outages`);
  let outage = firstOutage;
  while (!signal.aborted) {
    const node = nodes[random.between(0, nodes.length - 1)];
    await wait(outage.afterMs, signal);
    if (signal.aborted || !node) return;
    await node.goDown();
    logger.info({ node: node.host, seconds: outage.forMs / 1000 }, 'local SuperNode went down');
    await wait(outage.forMs, signal);
    if (signal.aborted) return;
    await comeBack(node, { logger });
    outage = { afterMs: random.between(150_000, 300_000), forMs: random.between(60_000, 120_000) };
  }
}

async function comeBack(node: LocalNode, { logger }: Pick<ActivityOptions, 'logger'>): Promise<void> {
  try {
    await node.goUp();
    logger.info({ node: node.host }, 'local SuperNode is back');
  } catch (caught) {
    logger.warn(
      { err: toAppError(caught), node: node.host },
      'local SuperNode could not come back; it tries again with its next outage',
    );
  }
}
