import { wait } from '../../../kit/wait.ts';
import { toAppError } from '../../../kit/errors.ts';
import type { Cause, FactLog } from '../../../commands/ports.ts';
import { type RecordProbe, RecordProbes } from '../../../commands/probing.ts';
import { dispatch } from '../../bus.ts';
import type { Logger } from '../../../kit/logger.ts';

/** Why a probe was made; a probe of its own accord has no cause. */
export type ProbeReason = Readonly<Pick<Cause, 'causation' | 'correlation'>>;

/** Takes outcomes of probes as they come in. */
export type ProbeRecorder = Readonly<{
  add: (probe: RecordProbe, reason: ProbeReason) => void;
}>;

type Waiting = Readonly<{ probe: RecordProbe; reason: ProbeReason }>;

const groupMs = 50;
const groupSize = 200;
const retryMs = 1_000;

/**
 * Writes outcomes in small groups soon after they came in, so that no outcome waits for a slow node.
 *
 * While the log is unavailable outcomes wait, the latest of each node, with the cause of those before it; what cannot
 * be decided is dropped, with a warning.
 */
export function createRecorder(log: FactLog, logger: Logger, signal: AbortSignal): ProbeRecorder {
  const waiting = new Map<string, Waiting>();
  let isWriting = false;

  const writeGroup = async (group: ReadonlyMap<string, Waiting>, reason: ProbeReason) => {
    const probes = new Map([...group].map(([node, { probe }]) => [node, probe]));
    try {
      await dispatch(log, new RecordProbes(probes, { ...reason, at: new Date().toISOString() }));
    } catch (caught) {
      signal.throwIfAborted();
      const { code, message } = toAppError(caught);
      const isLost = code !== 'UNAVAILABLE';
      logger.warn({ code, reason: message, probes: group.size, isLost }, 'probes could not be recorded');
      if (!isLost) {
        await wait(retryMs, signal);
        return;
      }
    }
    for (const [node, one] of group) if (waiting.get(node) === one) waiting.delete(node);
  };

  const writeAll = async () => {
    isWriting = true;
    try {
      for (let [first] = waiting.values(); first; [first] = waiting.values()) {
        await wait(groupMs, signal);
        signal.throwIfAborted();
        const { reason } = first;
        const alike = [...waiting].filter(([, one]) => one.reason.causation === reason.causation);
        await writeGroup(new Map(alike.slice(0, groupSize)), reason);
      }
    } catch (caught) {
      if (!signal.aborted) throw caught;
    } finally {
      isWriting = false;
    }
  };

  return {
    add(probe, reason) {
      const before = waiting.get(probe.node)?.reason;
      waiting.set(probe.node, { probe, reason: reason.causation ? reason : (before ?? reason) });
      if (!isWriting && !signal.aborted) void writeAll();
    },
  };
}
