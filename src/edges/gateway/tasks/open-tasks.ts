import type { Recorded } from '../../../commands/ports.ts';
import type { Logger } from '../../../kit/logger.ts';
import { repeat } from '../../../kit/repeat.ts';
import type { Log } from '../../../engine/log/log.ts';
import { type Task, taskOf } from './task-log.ts';

/** Every task of the network that has not ended, as this process has read the log so far. */
export type OpenTasks = Readonly<{
  all: () => readonly Task[];
  /** Uploads of an action. */
  uploadsOf: (action: string) => readonly Task[];
  /** Settles once all that was open at the start is known. */
  ready: Promise<void>;
  /** Settles once everything is known that the log had when this was called; fails where the broker does not answer. */
  upToNow: () => Promise<void>;
  /** Settles once the log is followed no longer, after the signal has aborted. */
  ended: Promise<void>;
}>;

const retryMs = 1_000;
const kinds = ['transfer', 'retrieval'] as const;
const endings = ['TransferCompleted', 'TransferFailed', 'RetrievalCompleted', 'RetrievalFailed'] as const;

/**
 * Reads the last fact of every task once, then follows the stream: what it costs follows the facts that are written,
 * never the tasks that have ended.
 *
 * The private ones have the name that they have in the log as their id.
 */
export function followOpenTasks(
  log: Log,
  { logger, signal }: Readonly<{ logger: Logger; signal: AbortSignal }>,
): OpenTasks {
  const open = new Map<string, Task>();
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  const waiting = new Map<() => void, number>();
  let reached = 0;
  const reach = (sequence: number): void => {
    reached = Math.max(reached, sequence);
    for (const [settle, wanted] of waiting)
      if (wanted <= reached) {
        waiting.delete(settle);
        settle();
      }
  };
  const note = (facts: readonly Recorded[]): void => {
    for (const { fact } of facts) {
      const task = taskOf(fact);
      if (!task) continue;
      if (task.known.ended) open.delete(task.name);
      else open.set(task.name, task);
    }
  };
  const read = async (): Promise<void> => {
    // Facts that are written while the last ones are read are read once more by following.
    const { lastSequence } = await log.head('TRANSFERS');
    open.clear();
    await Promise.all(
      kinds.map(async (kind) => {
        for await (const facts of log.lastPages(kind, endings)) note(facts);
      }),
    );
    resolve();
    reach(lastSequence);
    for await (const { facts } of log.follow('TRANSFERS', lastSequence, { signal })) {
      note(facts);
      reach(facts.at(-1)?.sequence ?? 0);
    }
  };
  return {
    all: () => [...open.values()],
    uploadsOf: (action) =>
      [...open.values()].filter(({ known }) => known.direction === 'upload' && known.action === action),
    ready,
    upToNow: async () => {
      const { lastSequence } = await log.head('TRANSFERS');
      if (lastSequence > reached) await new Promise<void>((settle) => waiting.set(settle, lastSequence));
    },
    ended: repeat('open transfers are read anew', read, { everyMs: retryMs, log: logger, signal }),
  };
}
