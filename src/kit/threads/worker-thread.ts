import { parentPort, workerData } from 'node:worker_threads';
import { type ErrorCode, toAppError } from '../errors.ts';

/** A message of a worker's owner. */
export type ToWorker =
  Readonly<{ kind: 'call'; task: string; input: unknown }> | Readonly<{ kind: 'abort'; reason: string }>;

/** A message of a worker: once that its module is loaded; to a call some progress messages, then one result. */
export type FromWorker =
  | Readonly<{ kind: 'ready' }>
  | Readonly<{ kind: 'progress'; value: unknown }>
  | Readonly<{ kind: 'done'; output: unknown }>
  | Readonly<{ kind: 'failed'; code: ErrorCode; message: string; stack: string }>;

/** The data of a worker's start: the module whose exports are the tasks. */
export type WorkerSetup = Readonly<{ module: string }>;

/** The program of every worker: it loads one module and runs its exported tasks, one at a time, as they are called. */
async function serve({ module }: WorkerSetup): Promise<void> {
  const tasks: object = await import(module);
  let running = new AbortController();
  // A port to the owner, not a window: there is no other origin.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  const answer = (message: FromWorker): void => parentPort?.postMessage(message);
  const call = async (task: string, input: unknown): Promise<void> => {
    running = new AbortController();
    try {
      const run: unknown = Reflect.get(tasks, task);
      if (typeof run !== 'function') throw new Error(`Module ${module} exports no task ${task}`);
      const progress = (value: unknown): void => answer({ kind: 'progress', value });
      const output: unknown = await run(input, { signal: running.signal, progress });
      answer({ kind: 'done', output });
    } catch (caught) {
      const { code, message, stack = '' } = toAppError(caught);
      answer({ kind: 'failed', code, message, stack: caught instanceof Error ? (caught.stack ?? stack) : stack });
    }
  };
  parentPort?.on('message', (message: ToWorker) => {
    if (message.kind === 'abort') running.abort(new DOMException(message.reason, 'AbortError'));
    else void call(message.task, message.input);
  });
  answer({ kind: 'ready' });
}

await serve(workerData as WorkerSetup);
