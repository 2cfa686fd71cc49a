import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { AppError } from '../../../kit/errors.ts';
import type { ObservedNode } from '../../node/observed.ts';
import type { NodePorts } from '../../node/start-node.ts';
import type { HostPlan, NodePlan, Numbered, Order, OrderReply } from './orders.ts';

/** A process that hosts nodes. */
export type NodesChild = Readonly<{
  pid: number | undefined;
  /** Starts a node, or returns the ports of one that runs; fails with `UNAVAILABLE` where a port is not available. */
  start: (node: NodePlan) => Promise<NodePorts>;
  /** Stops a node; one that does not run is none. */
  stopNode: (host: string) => Promise<void>;
  /** How those that run are. */
  observe: () => Promise<readonly ObservedNode[]>;
  /** Settles with how the process ended. */
  exited: Promise<string>;
  /** Ends the process, and all its nodes with it. */
  stop: () => Promise<void>;
}>;

const program = new URL('process.ts', import.meta.url);

/**
 * Garbage of calls and file transfers survives for a while: a small young generation is collected in 3 ms instead of
 * 17, and 99 of 100 callers wait no longer. One thread does it: where others compete for the processors, the main one
 * would wait for a helper that does not run.
 */
export const smallYoungGeneration = ['--max-semi-space-size=2', '--no-parallel-scavenge'];

/** Forks a process for `startNodesChild`; it ends when this process does, however that ends. */
export function forkNodesChild(): ChildProcess {
  return fork(program, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: [...process.execArgv, ...smallYoungGeneration],
  });
}

/** Starts a process that hosts nodes, none at first, or uses one that was forked already. */
export async function startNodesChild(plan: HostPlan, child = forkNodesChild()): Promise<NodesChild> {
  const exited = once(child, 'exit').then(
    ([code, signal]) => (signal ? `signal ${String(signal)}` : `code ${String(code)}`),
    (caught: unknown) => `it could not be started: ${String(caught)}`,
  );
  const request = requesting(child, exited);
  await request({ do: 'host', plan });
  return {
    pid: child.pid,
    start: async (node) => {
      const { ports } = await request({ do: 'start', node });
      return ports ?? node.ports;
    },
    stopNode: async (host) => void (await request({ do: 'stop', host })),
    observe: async () => (await request({ do: 'observe' })).observed ?? [],
    exited,
    stop: async () => {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}

/** Sends orders and settles each with its answer; all that are open fail with the process. */
function requesting(child: ChildProcess, exited: Promise<string>): (order: Order) => Promise<OrderReply> {
  const open = new Map<number, PromiseWithResolvers<OrderReply>>();
  let numbered = 0;
  child.on('message', (reply: OrderReply) => {
    const requested = open.get(reply.number);
    open.delete(reply.number);
    if (reply.failure) requested?.reject(new AppError(reply.failure.code, reply.failure.message));
    else requested?.resolve(reply);
  });
  const gone = (how: string): AppError =>
    new AppError('UNAVAILABLE', `The process of local SuperNodes is gone, it ended with ${how}`);
  child.once('exit', (code, signal) => {
    for (const query of open.values()) query.reject(gone(signal ?? `code ${code}`));
    open.clear();
  });
  return async (order) => {
    if (!child.connected) throw gone(await exited);
    const number = ++numbered;
    const pendingReply = Promise.withResolvers<OrderReply>();
    open.set(number, pendingReply);
    child.send(
      { number, order } satisfies Numbered,
      (failed) => failed && pendingReply.reject(gone('its channel closed')),
    );
    return await pendingReply.promise;
  };
}
