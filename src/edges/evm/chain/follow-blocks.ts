import type { Log } from '../../../engine/log/log.ts';
import { poll } from '../../../kit/repeat.ts';
import { wait } from '../../../kit/wait.ts';
import type { ChainBlocks, BlockHead } from './chain-blocks.ts';

const againMs = 20;
/** How soon a block is noticed where the hint of it was lost. */
const withoutHintMs = 2_000;

type Followed = Pick<ChainBlocks, 'head' | 'height' | 'byNumber'>;

/** Receives blocks; `started` is called once every later block will be reported. */
type BlockFollower = Readonly<{
  started: () => void;
  told: (head: BlockHead) => Promise<void>;
  signal: AbortSignal;
}>;

/**
 * Reports every block from now on once the read model has it, in their order, until the signal aborts.
 *
 * The log only hints at new blocks: what a block holds may be megabytes, and is not decoded here. A report that fails,
 * as one does while the read model is away, is made again.
 */
export async function followBlocks(
  log: Pick<Log, 'watch'>,
  blocks: Followed,
  { started, told, signal }: BlockFollower,
): Promise<void> {
  /** Returns the number of the last block that was reported. */
  const reportUpTo = async (head: BlockHead, last: bigint): Promise<bigint> => {
    // A store that lost blocks has others under the same numbers later.
    for (let number = last + 1n; number <= head.number && !signal.aborted; number += 1n) {
      const next = number === head.number ? head : await untilDone(() => blocks.byNumber(number), signal);
      if (next) await untilDone(() => told(next).then(() => true), signal);
    }
    return head.number;
  };
  let hint = new AbortController();
  const stop = log.watch(['ledger'], () => hint.abort());
  try {
    let reported = (await untilDone(() => blocks.height(), signal)) ?? 0n;
    started();
    while (!signal.aborted) {
      await wait(withoutHintMs, AbortSignal.any([signal, hint.signal]));
      const isHinted = hint.signal.aborted;
      hint = new AbortController();
      const head = await otherHead(blocks, reported, { withinMs: isHinted ? withoutHintMs : 0, signal });
      if (head) reported = await reportUpTo(head, reported);
    }
  } finally {
    stop();
  }
}

/** The head once it is another one than that of a number; the read model follows the log a moment behind. */
async function otherHead(
  blocks: Followed,
  number: bigint,
  options: Readonly<{ withinMs: number; signal: AbortSignal }>,
): Promise<BlockHead | undefined> {
  const read = async (): Promise<BlockHead | undefined> => {
    const height = await blocks.height().catch(() => number);
    return height === number ? undefined : await blocks.head().catch(() => undefined);
  };
  return await poll(read, { everyMs: againMs, ...options });
}

/** Tries work again while the read model cannot be read. */
async function untilDone<T>(work: () => Promise<T | undefined>, signal: AbortSignal): Promise<T | undefined> {
  return await poll(() => work().catch(() => undefined), { everyMs: againMs, signal });
}
