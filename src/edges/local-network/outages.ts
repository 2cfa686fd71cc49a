import { toAppError } from '../../kit/errors.ts';
import type { Logger } from '../../kit/logger.ts';
import { wait } from '../../kit/wait.ts';
import type { LocalNode } from './nodes/local-nodes.ts';
import { randomOf } from './random.ts';

const firstOutage = { afterMs: 70_000, forMs: 75_000 };

/** Stops one node at a time and starts it again, every few minutes, until the signal aborts. */
export async function playOutages(
  nodes: readonly LocalNode[],
  { seed, logger, signal }: Readonly<{ seed: number; logger: Logger; signal: AbortSignal }>,
): Promise<void> {
  const random = randomOf(`${seed}/outages`);
  let outage = firstOutage;
  while (!signal.aborted) {
    const node = nodes[random.between(0, nodes.length - 1)];
    await wait(outage.afterMs, signal);
    if (signal.aborted || !node) return;
    await tried('go down', node, logger);
    await wait(outage.forMs, signal);
    if (signal.aborted) return;
    await tried('come back', node, logger);
    outage = { afterMs: random.between(150_000, 300_000), forMs: random.between(60_000, 120_000) };
  }
}

/** What does not work this time is tried again with the node's next outage. */
async function tried(what: 'go down' | 'come back', node: LocalNode, logger: Logger): Promise<void> {
  try {
    await (what === 'go down' ? node.goDown() : node.goUp());
    logger.info({ node: node.host }, what === 'go down' ? 'local SuperNode went down' : 'local SuperNode is back');
  } catch (caught) {
    logger.warn({ err: toAppError(caught), node: node.host }, `local SuperNode could not ${what}`);
  }
}
