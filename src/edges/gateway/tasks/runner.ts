import { toAppError } from '../../../commands/errors.ts';
import type { Step, StepDetail } from '../../../commands/transfers/steps.ts';
import type { CascadeAction } from '../../cascade/chain.ts';
import type { Figures } from '../../http/operations/observed.ts';
import type { Logger } from '../../kit/logger.ts';
import { wait } from '../../kit/wait.ts';
import type { Leasing } from '../../log/leases.ts';
import type { Log } from '../../log/log.ts';
import { untilAnswered } from '../nodes/patience.ts';
import { isFresh } from '../nodes/spreading.ts';
import { downloadFromNodes, type NodeTransfers, uploadToNodes } from '../nodes/transfer.ts';
import type { TransferFiles } from './files.ts';
import { createTransferMetrics } from './transfer-metrics.ts';
import { findTask, openRetrievals, recordSteps, type Task, uploadAsked } from './task-log.ts';

/** What tasks are carried out with. */
export type RunnerOptions = Readonly<{
  log: Log;
  leases: Leasing;
  files: TransferFiles;
  nodes: NodeTransfers;
  /** A node that sends more is cut off. */
  mostBytes: number;
  logger: Logger;
  signal: AbortSignal;
}>;

/** Carries tasks out, each by one process at a time. */
export type Runner = Readonly<{
  /** Begins to carry a task out, or goes on with it; `signature` opens a private file and is only ever held here. */
  run: (task: Task, signature?: string) => void;
  /**
   * Goes on with what nobody carries out, as soon as whoever did so has let go of it: uploads whose bytes are here,
   * downloads of public files. Ends what nobody can go on with.
   */
  resume: (open: readonly string[]) => Promise<void>;
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
const ownerMs = 86_400_000;
/** The real client's words for what only a new request can mend. */
const lostSignature = {
  error: 'the gateway was restarted and keeps no download signatures; request the download again',
  code: 'GONE',
};
const lostAction = { error: 'the chain no longer has the action', code: 'NOT_FOUND' };
const lostFile = { error: 'the gateway that took the file in has not come back; upload it again', code: 'GONE' };

/** Makes the runner of a gateway. */
export function createRunner(options: RunnerOptions): Runner {
  const { log, leases, files, logger, signal } = options;
  const running = new Map<string, Promise<void>>();
  const uploads = new Map<string, Task>();
  const metrics = createTransferMetrics(() => running.size);
  const start = (task: Task, work: (lease: AbortSignal) => Promise<void>): void => {
    if (running.has(task.name)) return;
    const ending = leases
      .hold(`transfer-${task.name}`, signal, (lease) => work(lease.signal))
      .catch((caught: unknown) => {
        if (!signal.aborted)
          logger.error({ err: toAppError(caught) }, 'a transfer stopped; it is taken up again in a while');
      })
      .finally(() => {
        running.delete(task.name);
        if (uploads.get(task.known.action)?.name === task.name) uploads.delete(task.known.action);
      });
    running.set(task.name, ending);
  };
  const take = (task: Task): void => {
    if (task.known.direction === 'upload') uploads.set(task.known.action, task);
  };
  const carryOut = async (task: Task, signature: string | undefined, lease: AbortSignal): Promise<void> => {
    const now = (await findTask(log, task.id)) ?? task;
    if (now.known.ended) return;
    take(now);
    await moveBytes(options, { task: now, signature, signal: lease, metrics });
  };
  return {
    run: (task, signature) => {
      take(task);
      start(task, async (lease) => await carryOut(task, signature, lease));
    },
    resume: async (open) => {
      for (const id of open) {
        const task = await findTask(log, id);
        if (!task || task.known.ended) continue;
        const { store, direction, beganAt } = task.known;
        if (store === files.store || direction === 'download')
          start(task, async (lease) => await carryOut(task, undefined, lease));
        else if (Date.now() - Date.parse(beganAt) > ownerMs) start(task, async () => await fail(log, task, lostFile));
      }
      for (const task of await openRetrievals(log))
        if (task.known.store === files.store) start(task, async () => await fail(log, task, lostSignature));
    },
    gauges: [metrics.registry],
    uploadOf: (action) => uploads.get(action),
    endOf: async ({ name }) => await running.get(name),
    ended: async () => void (await Promise.allSettled(running.values())),
  };
}

/** Ends a task that nobody can go on with; one that has ended by now stays as it is. */
async function fail(log: Log, task: Task, detail: StepDetail): Promise<void> {
  await recordSteps(log, task, [{ status: 'sdk:failed', detail }], new Date().toISOString());
}

type Moving = Readonly<{
  task: Task;
  signature: string | undefined;
  signal: AbortSignal;
  metrics: ReturnType<typeof createTransferMetrics>;
}>;

/** Carries a task out to its end, writing each step as it comes; waits for a log that does not answer. */
async function moveBytes(options: RunnerOptions, { task, signature, signal, metrics }: Moving): Promise<void> {
  const { log, nodes, files } = options;
  let now = task;
  const write = async (steps: readonly Step[]): Promise<void> => {
    for (;;) {
      try {
        now = await recordSteps(log, now, steps, new Date().toISOString());
        metrics.onSteps(now.known, steps);
        return;
      } catch (caught) {
        if (signal.aborted || toAppError(caught).code !== 'UNAVAILABLE') throw caught;
        await wait(retryMs, signal);
        signal.throwIfAborted();
      }
    }
  };
  const action = await untilAnswered(async () => await nodes.chain.action(task.known.action), signal);
  for await (const steps of stepsOf(options, { task, action, signature, signal })) await write(steps);
  if (now.known.direction === 'upload' && now.known.ended) await files.forgetUpload(now.id);
}

type Given = Readonly<{
  task: Task;
  action: CascadeAction | undefined;
  signature: string | undefined;
  signal: AbortSignal;
}>;

async function* stepsOf(
  { files, nodes, mostBytes, log }: RunnerOptions,
  { task, action, signature = '', signal }: Given,
): AsyncGenerator<readonly Step[]> {
  const { direction } = task.known;
  const whose = { taskId: task.name, last: task.known.last, signal };
  if (!action?.file) return yield [{ status: 'sdk:failed', detail: lostAction }];
  if (direction === 'upload') {
    if (action.record.chainState !== 'pending') return yield afterwards(action);
    const asked = await uploadAsked(log, task.id);
    const file = { path: files.uploadOf(task.id), size: Number(asked?.size ?? 0) };
    return yield* uploadToNodes(nodes, action, file, whose);
  }
  const { dataHash } = action.file;
  const { hashesOf } = files;
  const into = files.fetchedOf(task.name);
  const fresh = async (): Promise<boolean> => await isFresh(log, action.id, Date.now());
  const wanted = { actionId: action.id, dataHash, signature, into, mostBytes, hashesOf, isFresh: fresh };
  yield* downloadFromNodes(nodes, action, wanted, whose);
}

/** An upload that is taken up again finds its action changed: finalized, then all went well. */
function afterwards({ record: { chainState } }: CascadeAction): Step[] {
  if (chainState === 'done' || chainState === 'approved')
    return [{ status: 'sdk:registration_successful' }, { status: 'sdk:completed' }];
  return [{ status: 'sdk:failed', detail: { error: `the action is ${chainState} on the chain`, code: 'CONFLICT' } }];
}
