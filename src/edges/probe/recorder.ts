import { setTimeout as sleep } from 'node:timers/promises';
import { toAppError } from '../../commands/errors.ts';
import { handle } from '../../commands/handle.ts';
import type { Cause, FactLog } from '../../commands/ports.ts';
import { probing, type RecordProbe } from '../../commands/probing.ts';
import type { Logger } from '../log.ts';

/** Why a probe was made; a probe of its own accord has no cause. */
export type Reason = Readonly<Pick<Cause, 'causation' | 'correlation'>>;

/** Takes outcomes of probes as they come in. */
export type Recorder = Readonly<{
  add: (probe: RecordProbe, reason: Reason) => void;
  /** Resolves once nothing waits to be written, or once writing was called off. */
  settled: () => Promise<void>;
}>;

const groupMs = 50;
const groupSize = 200;
const retryMs = 1_000;

/**
 * Writes outcomes in small groups soon after they came in, so that no outcome waits for a slow node.
 *
 * While the log is unavailable outcomes wait, the latest of each node.
 */
export function createRecorder(log: FactLog, logger: Logger, signal: AbortSignal): Recorder {
  const waiting = new Map<string, Readonly<{ probe: RecordProbe; reason: Reason }>>();
  let writing: Promise<void> | undefined;

  const writeGroup = async () => {
    const [first] = waiting.values();
    if (!first) return;
    const { reason } = first;
    const group = [...waiting].filter(([, one]) => one.reason.causation === reason.causation).slice(0, groupSize);
    await handle(log, probing, new Map(group.map(([node, { probe }]) => [node, probe])), {
      ...reason,
      at: new Date().toISOString(),
    });
    for (const [node, one] of group) if (waiting.get(node) === one) waiting.delete(node);
  };

  const writeAll = async () => {
    await sleep(groupMs, undefined, { signal });
    while (waiting.size > 0) {
      try {
        await writeGroup();
      } catch (caught) {
        const { code, message } = toAppError(caught);
        logger.warn({ code, reason: message, waiting: waiting.size }, 'probes could not be recorded; trying again');
        await sleep(retryMs, undefined, { signal });
      }
      signal.throwIfAborted();
    }
  };

  return {
    add(probe, reason) {
      waiting.set(probe.node, { probe, reason });
      writing ??= writeAll()
        .catch((caught: unknown) => {
          if (!signal.aborted) throw caught;
        })
        .finally(() => (writing = undefined));
    },
    settled: async () => {
      while (writing && !signal.aborted) await writing;
    },
  };
}
