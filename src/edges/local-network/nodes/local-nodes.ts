import type { ChildProcess } from 'node:child_process';
import type { Logger } from '../../../kit/logger.ts';
import { keepRunning } from '../../../kit/supervise.ts';
import type { ObservedNode } from '../../node/observed.ts';
import type { NodePorts } from '../../node/start-node.ts';
import { type NodesChild, startNodesChild } from './child.ts';
import type { HostPlan, NodePlan } from './orders.ts';

/** How the nodes of the local network are hosted. */
export type HostingOptions = Readonly<{
  plan: HostPlan;
  nodes: readonly NodePlan[];
  /** A process for each node, instead of one for all. */
  apart: boolean;
  /** Processes that were forked already (`forkNodesChild`); the others are forked when they are needed. */
  begun?: readonly ChildProcess[];
  logger: Logger;
  signal: AbortSignal;
}>;

/** A node of the local network, which its parent can take down. */
export type LocalNode = Readonly<{
  host: string;
  /** Those that are open; undefined while it is down. */
  ports: () => NodePorts | undefined;
  goUp: () => Promise<void>;
  goDown: () => Promise<void>;
}>;

/** The nodes of the local network in processes of their own. */
export type LocalNodes = Readonly<{
  nodes: readonly LocalNode[];
  /** Process ids of the processes that host them now. */
  pids: () => readonly (number | undefined)[];
  /** How each of them is; fails while a process of theirs does not answer. */
  observe: () => Promise<readonly ObservedNode[]>;
  stop: () => Promise<void>;
}>;

/**
 * Starts the nodes of the local network, in one process or in one each.
 *
 * A process that ends unasked is started again with the nodes that were up in it. Fails with `UNAVAILABLE` that names
 * the port which cannot be had; then no process is left.
 */
export async function startLocalNodes(input: HostingOptions): Promise<LocalNodes> {
  const { nodes, apart, begun = [], ...options } = input;
  const groups = apart ? nodes.map((node) => [node]) : [[...nodes]];
  const started = await Promise.allSettled(groups.map((group, index) => hostGroup(group, options, begun[index])));
  const hosts = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const stop = async (): Promise<void> => void (await Promise.all(hosts.map((host) => host.stop())));
  const failed = started.find((one) => one.status === 'rejected');
  if (failed) {
    await stop();
    throw failed.reason;
  }
  return {
    nodes: hosts.flatMap((host) => host.nodes),
    pids: () => hosts.map((host) => host.pid()),
    observe: async () => (await Promise.all(hosts.map((host) => host.observe()))).flat(),
    stop,
  };
}

type Group = Readonly<{
  nodes: readonly LocalNode[];
  pid: () => number | undefined;
  observe: LocalNodes['observe'];
  stop: () => Promise<void>;
}>;

async function hostGroup(
  plans: readonly NodePlan[],
  { plan, logger, signal }: Omit<HostingOptions, 'nodes' | 'apart' | 'begun'>,
  begun?: ChildProcess,
): Promise<Group> {
  const up = new Map<string, { node: NodePlan; ports: NodePorts | undefined }>();
  for (const node of plans) up.set(node.host, { node, ports: undefined });
  const start = async (process?: ChildProcess): Promise<NodesChild> => {
    const child = await startNodesChild(plan, process);
    try {
      for (const entry of up.values()) entry.ports = await child.start(entry.node);
      return child;
    } catch (caught) {
      await child.stop();
      throw caught;
    }
  };
  const stored = keepRunning('local SuperNodes', await start(begun), async () => await start(), {
    log: logger,
    signal,
  });
  const nodes = plans.map((node) => ({
    host: node.host,
    ports: () => up.get(node.host)?.ports,
    goUp: async () => {
      const entry = { node, ports: await stored.current().start(node) };
      up.set(node.host, entry);
    },
    goDown: async () => {
      up.delete(node.host);
      await stored.current().stopNode(node.host);
    },
  }));
  const observe = async (): Promise<ObservedNode[]> => {
    const states = new Map((await stored.current().observe()).map(({ node, state }) => [node, state]));
    return plans.map(({ host }) => ({ node: host, state: states.get(host) }));
  };
  return { nodes, observe, pid: () => stored.current().pid, stop: stored.stop };
}
