import { wait } from '../../kit/wait.ts';
import type { Log } from '../../log/log.ts';
import type { ChainBlock, ChainBlocks } from './chain-blocks.ts';

const againMs = 20;

/**
 * Hears of every block from now on once the read model has it, in their order, until the signal aborts.
 *
 * Who hears of one may ask for its receipts at once.
 */
export async function followBlocks(
  log: Pick<Log, 'head' | 'follow'>,
  blocks: Pick<ChainBlocks, 'byNumber'>,
  { told, signal }: Readonly<{ told: (block: ChainBlock) => void; signal: AbortSignal }>,
): Promise<void> {
  const { lastSequence } = await log.head('LEDGER');
  for await (const { facts } of log.follow('LEDGER', lastSequence, { signal }))
    for (const { fact } of facts) {
      if (fact.type !== 'BlockSealed') continue;
      const block = await readable(blocks, BigInt(fact.data.height), signal);
      if (block) told(block);
    }
}

/** The read model follows the log a moment behind; while it cannot be asked it is asked again. */
async function readable(
  { byNumber }: Pick<ChainBlocks, 'byNumber'>,
  number: bigint,
  signal: AbortSignal,
): Promise<ChainBlock | undefined> {
  while (!signal.aborted) {
    const block = await byNumber(number).catch(() => undefined);
    if (block) return block;
    await wait(againMs, signal);
  }
  return undefined;
}
