import { poll } from '../../../kit/repeat.ts';
import type { Log } from '../../../engine/log/log.ts';
import type { ChainBlocks, BlockHead } from './chain-blocks.ts';

const againMs = 20;

/**
 * Reports every block from now on once the read model has it, in their order, until the signal aborts.
 *
 * A report that fails, as one does while the read model is away, is made again.
 */
export async function followBlocks(
  log: Pick<Log, 'head' | 'follow'>,
  blocks: Pick<ChainBlocks, 'byNumber'>,
  { told, signal }: Readonly<{ told: (head: BlockHead) => Promise<void>; signal: AbortSignal }>,
): Promise<void> {
  const { lastSequence } = await log.head('LEDGER');
  for await (const { facts } of log.follow('LEDGER', lastSequence, { signal }))
    for (const { fact } of facts) {
      if (fact.type !== 'BlockSealed') continue;
      const head = await untilDone(() => blocks.byNumber(BigInt(fact.data.height)), signal);
      if (head) await untilDone(() => told(head).then(() => true), signal);
    }
}

/** The read model follows the log a moment behind; while it cannot be read, the work is tried again. */
async function untilDone<T>(work: () => Promise<T | undefined>, signal: AbortSignal): Promise<T | undefined> {
  return await poll(() => work().catch(() => undefined), { everyMs: againMs, signal });
}
