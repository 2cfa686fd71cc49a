import type { TransferStep } from '../../../commands/transfers/steps.ts';
import type { Log } from '../../../engine/log/log.ts';

/** For so long after an action was finalized its nodes may still be spreading the symbols of its file. */
const freshMs = 600_000;
/** A download waits so long in all for nodes that lack symbols. */
const patienceMs = 180_000;
const pausesMs = [5_000, 10_000, 20_000, 30_000] as const;

/** Returns whether a node reports that too few of a file's symbols have reached the network so far. */
export function lacksSymbols(reason: string): boolean {
  return /insufficient symbols/i.test(reason);
}

/**
 * Returns whether an action was finalized lately as the log has it; one that the log does not have as finalized is
 * fresh.
 */
export async function isFresh(log: Pick<Log, 'last'>, action: string, now: number): Promise<boolean> {
  const last = (await log.last('action', [action])).get(action);
  if (!last || !('known' in last.fact.data) || last.fact.data.known === undefined) return true;
  const { known } = last.fact.data;
  const isStored = 'chainState' in known && (known.chainState === 'done' || known.chainState === 'approved');
  return !isStored || now - Date.parse(last.time) < freshMs;
}

/** Pauses of a download whose nodes lack symbols; undefined once it has waited long enough. */
export function createPauses(scale = 1): () => number | undefined {
  let [round, waitedMs] = [0, 0];
  return () => {
    if (waitedMs >= patienceMs) return undefined;
    const pauseMs = pausesMs[Math.min(round, pausesMs.length - 1)] ?? patienceMs;
    [round, waitedMs] = [round + 1, waitedMs + pauseMs];
    return pauseMs * scale;
  };
}

/** The state of a download that waits until its nodes have spread the symbols. */
export function waitingStep(iteration: number, pauseMs: number, previousError: string): TransferStep {
  const message = `SuperNodes are still spreading the file; they are tried again in ${Math.ceil(pauseMs / 1000)} s`;
  return { status: 'sdk:download_waiting', detail: { iteration, message, previousError } };
}
