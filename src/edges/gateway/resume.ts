import { toAppError } from '../../kit/errors.ts';
import type { CascadeChain } from '../chain/files/chain.ts';
import type { Logger } from '../../kit/logger.ts';
import { repeat } from '../../kit/repeat.ts';
import { wait } from '../../kit/wait.ts';
import type { Log } from '../../engine/log/log.ts';
import type { Presence } from '../../engine/log/presence.ts';
import type { Absence } from './tasks/absence.ts';
import { endings } from './tasks/endings.ts';
import type { TransferFiles } from './tasks/files.ts';
import type { OpenTasks } from './tasks/open-tasks.ts';
import type { Runner } from './tasks/runner.ts';
import { currentTask, endTask, resumeTask, type Task, taskOf } from './tasks/task-log.ts';

const eachMs = 1_000;
const orphansEachMs = 60_000;
/** Longer than any start. */
const longestMs = 86_400_000;

/** What taking tasks up again needs. */
export type Resuming = Readonly<{
  log: Log;
  open: OpenTasks;
  presence: Presence;
  absence: Absence;
  runner: Runner;
  files: Pick<TransferFiles, 'store' | 'liveness'>;
  chain: Pick<CascadeChain, 'action'>;
  logger: Logger;
}>;

/**
 * Resumes the tasks of a gateway that is gone: uploads whose bytes are here, downloads of public files. Ends those that
 * no gateway can resume.
 *
 * Reads only the open tasks in memory; it reads the broker only while there are some of other gateways.
 */
export async function resumeTransfers(resuming: Resuming, signal: AbortSignal): Promise<void> {
  const { open, logger } = resuming;
  const orphansAt = new Map<string, number>();
  const isDue = ({ name }: Task): boolean => {
    const now = performance.now();
    if (now - (orphansAt.get(name) ?? -Infinity) < orphansEachMs) return false;
    orphansAt.set(name, now);
    return true;
  };
  await Promise.race([open.ready, wait(longestMs, signal)]);
  const check = (): Promise<void> =>
    checkOnce(resuming, isDue).catch((caught: unknown) => {
      if (toAppError(caught).code !== 'UNAVAILABLE') throw caught;
    });
  await repeat('transfers were not taken up again', check, { everyMs: eachMs, log: logger, signal });
}

async function checkOnce(resuming: Resuming, isDue: (task: Task) => boolean): Promise<void> {
  const { open, presence, absence, runner } = resuming;
  const [own, others] = [[] as Task[], [] as Task[]];
  for (const task of open.all()) (task.known.holder === presence.name ? own : others).push(task);
  for (const task of own) if (!runner.has(task.name)) runner.run(task);
  for (const task of others) if (runner.has(task.name)) await leave(resuming, task);
  if (others.length > 0) await absence.observe();
  for (const task of others) if (await isGone(resuming, task.known.holder)) await goOn(resuming, task, isDue);
}

/** What is read of the log may be older than what this process has resumed since, so its leader decides. */
async function leave({ log, presence, runner }: Resuming, { kind, name }: Task): Promise<void> {
  const holder = taskOf((await log.confirmedLast(kind, name))?.fact)?.known.holder;
  if (holder !== presence.name) runner.leave(name);
}

/** By the kernel at once where the gateway shared this folder, else once its lease is missing. */
async function isGone({ absence, files }: Resuming, holder = ''): Promise<boolean> {
  if (absence.isGone(holder)) return true;
  const isNeighbour = holder.startsWith(`${files.store}.`);
  return isNeighbour && (await files.liveness.hasEnded(holder.slice(files.store.length + 1)));
}

async function goOn(resuming: Resuming, task: Task, isDue: (task: Task) => boolean): Promise<void> {
  const { log, presence, runner, files, absence } = resuming;
  const { direction, store } = task.known;
  if (task.kind === 'retrieval') return await endTask(log, await currentTask(log, task), endings.lostSignature);
  if (direction === 'upload' && store !== files.store) {
    if (absence.isUnserved(store) && isDue(task)) await settle(resuming, task);
    return;
  }
  const resumed = await resumeTask(log, task, { holder: presence.name, store: files.store });
  if (resumed) runner.run(resumed);
}

/** Ends an upload whose bytes no gateway has, by the action's state on the chain: it may be done, or can never be. */
async function settle({ log, chain, runner, presence, files }: Resuming, task: Task): Promise<void> {
  const state = (await chain.action(task.known.action))?.record.chainState;
  if (state === 'pending') return;
  const resumed = await resumeTask(log, task, { holder: presence.name, store: files.store });
  if (resumed) runner.run(resumed);
}
