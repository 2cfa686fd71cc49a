import type { FactLog } from '../../commands/ports.ts';

/**
 * Leadership among the processes of a network: `run` has the name to itself until its signal ends, and has to end then.
 */
export type Leasing = Readonly<{
  hold: (
    name: string,
    signal: AbortSignal,
    run: (lease: Readonly<{ signal: AbortSignal }>) => Promise<void>,
  ) => Promise<void>;
}>;

/**
 * A log that takes nothing more once the lease it is written under has ended.
 *
 * What is on its way then is guarded by the sequence that it expects: it is refused where the next holder has written
 * since.
 */
export function whileHeld<L extends FactLog>(log: L, signal: AbortSignal): L {
  return {
    ...log,
    append: async (decisions, cause) => {
      signal.throwIfAborted();
      return await log.append(decisions, cause);
    },
  };
}
