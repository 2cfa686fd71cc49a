/**
 * Limits of a block's size and of the time to make it; a block of the log is executed again without limits.
 *
 * `bytes`: of the fact, as it is encoded. `blockMs`: after that no further transaction runs. `transactionMs`: of one
 * transaction, which is dropped at its next read of the state or jump, or before a built-in contract that takes longer.
 */
export type SealingLimits = Readonly<{ bytes: number; blockMs: number; transactionMs: number }>;

/** The limits of a sealer without any. */
export const noLimits: SealingLimits = { bytes: Infinity, blockMs: Infinity, transactionMs: Infinity };

/** Why a transaction that takes too long is refused. */
export const slowReason = 'it takes longer than any transaction may';

/** Thrown by a read of the state or a jump in a transaction that has run for too long. */
export class TooLong extends Error {}

/**
 * The share of time spent waiting that counts beside work of this thread: a busy machine drops no innocent transaction.
 */
const shareOfWaiting = 1 / 4;

/** Measures work from now on; returns milliseconds. */
export function stopwatch(): () => number {
  const startedAt = performance.now();
  const before = process.threadCpuUsage();
  return () => {
    const { user, system } = process.threadCpuUsage(before);
    return Math.max((user + system) / 1000, (performance.now() - startedAt) * shareOfWaiting);
  };
}
