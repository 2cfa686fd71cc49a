import { AppError, toAppError } from '../../../commands/errors.ts';
import type { Step } from '../../../commands/transfers/steps.ts';
import type { CascadeAction, CascadeChain } from '../../cascade/chain.ts';
import type { Figures } from '../../http/operations/observed.ts';
import type { Logger } from '../../kit/logger.ts';
import { wait } from '../../kit/wait.ts';
import type { Leasing } from '../../log/leases.ts';
import type { Log } from '../../log/log.ts';
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
  /** Goes on with what was under way when a process ended. */
  resume: (open: readonly string[]) => Promise<void>;
  /** For `/metrics`. */
  gauges: readonly Figures[];
  /** Settles once this process has nothing more to do for a task. */
  endOf: (task: Task) => Promise<void>;
  /** Settles once everything that runs has ended; call it after the signal has aborted. */
  ended: () => Promise<void>;
}>;

const retryMs = 1_000;
/** The real client's words for what only a new request can mend. */
const lostSignature = 'the gateway was restarted and keeps no download signatures; request the download again';

/** Makes the runner of a gateway. */
export function createRunner(options: RunnerOptions): Runner {
  const { log, leases, files, nodes, logger, signal } = options;
  const running = new Map<string, Promise<void>>();
  const metrics = createTransferMetrics(() => running.size);
  const carryOut = async (task: Task, signature: string | undefined, held: AbortSignal): Promise<void> => {
    let now = (await findTask(log, task.id)) ?? task;
    const write = async (steps: readonly Step[]): Promise<void> => {
      for (;;) {
        try {
          now = await recordSteps(log, now, steps, new Date().toISOString());
          metrics.onSteps(now.known, steps);
          return;
        } catch (caught) {
          if (held.aborted || toAppError(caught).code !== 'UNAVAILABLE') throw caught;
          await wait(retryMs, held);
          held.throwIfAborted();
        }
      }
    };
    if (now.known.ended) return;
    const action = await actionOf(nodes.chain, now.known.action, held);
    for await (const steps of stepsOf(options, { task: now, action, signature, signal: held })) await write(steps);
    if (now.known.direction === 'upload' && now.known.ended) await files.forgetUpload(now.id);
  };
  const run = (task: Task, signature?: string): void => {
    if (running.has(task.name)) return;
    const work = leases
      .hold(`transfer-${task.name}`, signal, (lease) => carryOut(task, signature, lease.signal))
      .catch((caught: unknown) => {
        if (!signal.aborted)
          logger.error({ err: toAppError(caught) }, 'a transfer stopped; the next start goes on with it');
      })
      .finally(() => running.delete(task.name));
    running.set(task.name, work);
  };
  return {
    run,
    resume: async (open) => {
      for (const id of open) {
        const task = await findTask(log, id);
        if (task && !task.known.ended && task.known.store === files.store) run(task);
      }
      for (const task of await openRetrievals(log))
        if (task.known.store === files.store && !running.has(task.name))
          await recordSteps(
            log,
            task,
            [{ status: 'sdk:failed', detail: { error: lostSignature } }],
            new Date().toISOString(),
          );
    },
    gauges: [metrics.registry],
    endOf: async ({ name }) => await running.get(name),
    ended: async () => void (await Promise.allSettled(running.values())),
  };
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
  const whose = { taskId: task.name, signal };
  if (!action?.file) return yield [{ status: 'sdk:failed', detail: { error: 'the chain no longer has the action' } }];
  if (direction === 'upload') {
    if (action.record.chainState !== 'pending') return yield afterwards(action);
    const asked = await uploadAsked(log, task.id);
    const file = { path: files.uploadOf(task.id), size: Number(asked?.size ?? 0) };
    return yield* uploadToNodes(nodes, action, file, whose);
  }
  const { dataHash } = action.file;
  const wanted = { actionId: action.id, dataHash, signature, into: files.fetchedOf(task.name), mostBytes };
  yield* downloadFromNodes(nodes, action, wanted, whose);
}

/** An upload that is taken up again finds its action changed: finalized, then all went well. */
function afterwards({ record: { chainState } }: CascadeAction): Step[] {
  if (chainState === 'done' || chainState === 'approved')
    return [{ status: 'sdk:registration_successful' }, { status: 'sdk:completed' }];
  return [{ status: 'sdk:failed', detail: { error: `the action is ${chainState} on the chain` } }];
}

/** Asks until the chain answers: a task waits for it, however long. */
async function actionOf(chain: CascadeChain, id: string, signal: AbortSignal): Promise<CascadeAction | undefined> {
  for (;;) {
    try {
      return await chain.action(id);
    } catch (caught) {
      if (!(caught instanceof AppError) || caught.code !== 'UNAVAILABLE') throw caught;
      await wait(retryMs, signal);
      signal.throwIfAborted();
    }
  }
}
