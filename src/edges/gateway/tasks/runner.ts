import { AppError, toAppError } from '../../../kit/errors.ts';
import type { Requested } from '../../../commands/transfers/request.ts';
import type { TransferStep } from '../../../commands/transfers/steps.ts';
import type { CascadeAction } from '../../chain/files/chain.ts';
import type { Figures } from '../../../kit/observed.ts';
import type { Logger } from '../../../kit/logger.ts';
import { wait } from '../../../kit/wait.ts';
import type { Log } from '../../../engine/log/log.ts';
import type { Presence } from '../../../engine/log/presence.ts';
import { untilAnswered } from '../nodes/patience.ts';
import { recordedBytes } from '../nodes/download.ts';
import { DiskFailure } from '../nodes/own-disk.ts';
import { isFresh } from '../nodes/spreading.ts';
import { downloadFromNodes, type NodeTransfers, uploadToNodes } from '../nodes/transfer.ts';
import { endings } from './endings.ts';
import type { TransferFiles } from './files.ts';
import { createTransferMetrics } from './transfer-metrics.ts';
import {
  startTask,
  currentTask,
  endTask,
  findTask,
  nameOf,
  recordSteps,
  type Task,
  uploadRequested,
} from './task-log.ts';

/** What tasks are carried out with. */
export type RunnerOptions = Readonly<{
  log: Log;
  presence: Pick<Presence, 'name' | 'term'>;
  files: TransferFiles;
  nodes: NodeTransfers;
  /** A node that sends more is cut off. */
  mostBytes: number;
  logger: Logger;
  signal: AbortSignal;
}>;

/** The request of a task of this process; its store and its holder follow from the process. */
export type Starting = Requested extends infer One
  ? One extends Requested
    ? Omit<One, 'store' | 'holder'>
    : never
  : never;

/** Carries out the tasks that name this process as their holder. */
export type Runner = Readonly<{
  /**
   * Writes what was requested and carries it out, with its action as it was judged a moment ago; `signature` opens a
   * private file and is only ever held here.
   */
  begin: (id: string, starting: Starting, action: CascadeAction, signature?: string) => Promise<Task>;
  /** Carries out a task that names this process, unless it does so already. */
  run: (task: Task) => void;
  /** Ends what this process does for a task that another one carries out by now. */
  leave: (name: string) => void;
  /** Returns whether this process carries out a task of a name. */
  has: (name: string) => boolean;
  /** For `/metrics`. */
  gauges: readonly Figures[];
  /** The upload of an action that this process carries out. */
  uploadOf: (action: string) => Task | undefined;
  /** Settles once this process has nothing more to do for a task. */
  endOf: (task: Task) => Promise<void>;
  /** Settles once everything that runs has ended; call it after the signal has aborted. */
  ended: () => Promise<void>;
}>;

const retryMs = 1_000;
const againMs = 5_000;
const announcedWithinMs = 10_000;

/**
 * Makes the runner of a gateway.
 *
 * It starts a task only while this process is announced, so that no other process resumes it. One that runs continues
 * while the lease of the announcement is lost, for a busy machine or broker loses it for a moment: it is left to
 * another process once that has resumed it, and whatever is written afterwards is refused.
 */
export function createRunner(options: RunnerOptions): Runner {
  const { log, presence, files, logger, signal } = options;
  const { name: holder } = presence;
  const running = new Map<string, Readonly<{ ended: Promise<void>; leave: () => void }>>();
  const beginning = new Set<string>();
  const uploads = new Map<string, Task>();
  const metrics = createTransferMetrics(() => running.size);
  const keepCarrying = async (carried: Carried, left: AbortSignal): Promise<void> => {
    const whole = AbortSignal.any([signal, left]);
    for (let { started } = carried; !whole.aborted; started = undefined) {
      await presence.term(whole);
      try {
        return await carryOut(options, { ...carried, started, signal: whole, metrics });
      } catch (caught) {
        const err = toAppError(caught);
        if (!whole.aborted && err.code !== 'CONFLICT')
          logger.error({ err }, 'a transfer stopped; it goes on in a while');
        await wait(againMs, whole);
      }
    }
  };
  const run = (carried: Carried): void => {
    const { task } = carried;
    if (running.has(task.name)) return;
    const { action, direction } = task.known;
    if (direction === 'upload') uploads.set(action, task);
    const left = new AbortController();
    const ended = keepCarrying(carried, left.signal)
      .catch(() => undefined)
      .finally(() => {
        running.delete(task.name);
        if (uploads.get(action)?.name === task.name) uploads.delete(action);
      });
    running.set(task.name, { ended, leave: () => left.abort() });
  };
  return {
    begin: async (id, starting, action, signature) => {
      const name = nameOf(id, starting);
      beginning.add(name);
      try {
        await announced(presence, signal);
        const { task, isNew } = await startOnce(log, id, { ...starting, store: files.store, holder });
        const size = starting.direction === 'upload' ? Number(starting.size) : 0;
        run({ task, signature, ...(isNew && { started: { action, size } }) });
        return task;
      } finally {
        beginning.delete(name);
      }
    },
    run: (task) => run({ task }),
    leave: (name) => running.get(name)?.leave(),
    has: (name) => running.has(name) || beginning.has(name),
    gauges: [metrics.registry],
    uploadOf: (action) => uploads.get(action),
    endOf: async ({ name }) => await running.get(name)?.ended,
    ended: async () => void (await Promise.allSettled([...running.values()].map(({ ended }) => ended))),
  };
}

/** Carries a task out, unless it has ended or names another process by now. */
async function carryOut(options: RunnerOptions, { task, ...moving }: Moving): Promise<void> {
  const { log, presence } = options;
  const now = moving.started ? task : await currentTask(log, task);
  if (now.known.ended || now.known.holder !== presence.name) return;
  if (now.kind === 'retrieval' && moving.signature === undefined) return await endTask(log, now, endings.lostSignature);
  await moveBytes(options, { ...moving, task: now }).catch(
    async (caught: unknown) => await endFailedDownload(options, now, caught),
  );
}

/** Ends a download that failed on our own disk; an upload resumes after a while, because its bytes are acknowledged. */
async function endFailedDownload({ log, logger }: RunnerOptions, task: Task, caught: unknown): Promise<void> {
  if (!(caught instanceof DiskFailure) || task.known.direction === 'upload') throw caught;
  logger.error({ err: caught }, 'the disk failed a download');
  await endTask(log, await currentTask(log, task), { error: caught.message, code: caught.code });
}

/** Fails with `UNAVAILABLE` while this process cannot announce itself: others would take its tasks for left alone. */
async function announced(presence: RunnerOptions['presence'], signal: AbortSignal): Promise<void> {
  const soon = AbortSignal.any([signal, AbortSignal.timeout(announcedWithinMs)]);
  await presence.term(soon).catch((cause: unknown) => {
    throw new AppError('UNAVAILABLE', 'The broker does not let this gateway announce itself; try again', { cause });
  });
}

/** Starts a task; where an earlier try whose answer was lost has started it, returns that task. */
async function startOnce(
  log: Log,
  id: string,
  requested: Requested,
): Promise<Readonly<{ task: Task; isNew: boolean }>> {
  try {
    return { task: await startTask(log, id, requested), isNew: true };
  } catch (caught) {
    const existing = toAppError(caught).code === 'CONFLICT' ? await findTask(log, id) : undefined;
    if (!existing) throw caught;
    return { task: existing, isNew: false };
  }
}

/** A task and what its start has handed over: nothing of it is read again the first time. */
type Carried = Readonly<{
  task: Task;
  signature?: string | undefined;
  started?: Readonly<{ action: CascadeAction; size: number }> | undefined;
}>;

type Moving = Carried & Readonly<{ signal: AbortSignal; metrics: ReturnType<typeof createTransferMetrics> }>;

/** Carries a task out to its end, writing each step as it comes; waits for a log that does not answer. */
async function moveBytes(options: RunnerOptions, moving: Moving): Promise<void> {
  const { log, nodes, files } = options;
  const { task, started, signal, metrics } = moving;
  let now = task;
  const write = async (steps: readonly TransferStep[]): Promise<void> => {
    for (;;) {
      try {
        const { holder, last } = now.known;
        now = await recordSteps(log, now, steps, new Date().toISOString());
        if (now.known.holder !== holder || now.known.last !== last + steps.length)
          throw new AppError('CONFLICT', 'The transfer has ended, or another gateway goes on with it');
        metrics.onSteps(now.known, steps);
        return;
      } catch (caught) {
        if (signal.aborted || toAppError(caught).code !== 'UNAVAILABLE') throw caught;
        await wait(retryMs, signal);
        signal.throwIfAborted();
      }
    }
  };
  const action =
    started?.action ?? (await untilAnswered(async () => await nodes.chain.action(task.known.action), signal));
  for await (const steps of stepsOf(options, { ...moving, action })) await write(steps);
  if (now.known.direction === 'upload' && now.known.ended) await files.forgetUpload(now.id);
}

async function* stepsOf(
  { files, nodes, mostBytes, log }: RunnerOptions,
  { task, started, action, signature = '', signal }: Moving & Readonly<{ action: CascadeAction | undefined }>,
): AsyncGenerator<readonly TransferStep[]> {
  const { direction } = task.known;
  const whose = { taskId: task.name, last: task.known.last, signal };
  if (!action?.file) return yield [{ status: 'sdk:failed', detail: endings.lostAction }];
  if (direction === 'upload') {
    if (action.record.chainState !== 'pending') return yield afterwards(action);
    const size = started?.size ?? Number((await uploadRequested(log, task.id))?.size ?? 0);
    return yield* uploadToNodes(nodes, action, { path: files.uploadOf(task.id), size }, whose);
  }
  const { dataHash } = action.file;
  const { hashesOf, space } = files;
  const expectedBytes = recordedBytes(action, mostBytes);
  const into = files.fetchedOf(task.name);
  const fresh = async (): Promise<boolean> => await isFresh(log, action.id, Date.now());
  const wanted = {
    actionId: action.id,
    dataHash,
    signature,
    into,
    mostBytes,
    hashesOf,
    space,
    expectedBytes,
    isFresh: fresh,
  };
  yield* downloadFromNodes(nodes, action, wanted, whose);
}

/** A resumed upload may find its action changed: where it is finalized, all went well. */
function afterwards({ record: { chainState } }: CascadeAction): TransferStep[] {
  if (chainState === 'done' || chainState === 'approved')
    return [{ status: 'sdk:registration_successful' }, { status: 'sdk:completed' }];
  return [{ status: 'sdk:failed', detail: { error: `the action is ${chainState} on the chain`, code: 'CONFLICT' } }];
}
