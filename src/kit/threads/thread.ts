import { type Transferable, Worker } from 'node:worker_threads';
import { AppError, toAppError } from '../errors.ts';
import type { FromWorker, ToWorker, WorkerSetup } from './worker-thread.ts';

/**
 * The module of a thread and its limits: a thread that needs more heap than `memoryMb` ends, and nothing else does. A
 * cancelled task may clean up for `graceMs`.
 */
export type ThreadOptions = Readonly<{ name: string; module: URL; memoryMb?: number; graceMs?: number }>;

/** One call: what is called, with what, and what ends it before its time. */
export type ThreadCall = Readonly<{
  task: string;
  input: unknown;
  transfer?: readonly Transferable[];
  signal?: AbortSignal | undefined;
  timeoutMs?: number;
  onProgress?: (value: never) => void;
}>;

/**
 * A worker strips types without an option, like the process that starts it; the first keeps Node 22 from warning of it
 * each time. What the process preloads by `--import=` is preloaded in its threads as well.
 */
const execArgv = [
  '--disable-warning=ExperimentalWarning',
  ...process.execArgv.filter((argument) => argument.startsWith('--import=')),
];

const usualGraceMs = 2_000;

/** A worker thread that takes one call at a time; a module that cannot be loaded shows at its first call. */
export class Thread {
  readonly #name: string;
  readonly #graceMs: number;
  readonly #worker: Worker;
  readonly #ready = Promise.withResolvers<void>();
  #current: (PromiseWithResolvers<unknown> & { onProgress: ThreadCall['onProgress'] }) | undefined;
  #ended: AppError | undefined;

  constructor({ name, module, memoryMb, graceMs = usualGraceMs }: ThreadOptions) {
    const workerData: WorkerSetup = { module: module.href };
    const resourceLimits = memoryMb === undefined ? {} : { maxOldGenerationSizeMb: memoryMb };
    const program = new URL('worker-thread.ts', import.meta.url);
    this.#name = name;
    this.#graceMs = graceMs;
    this.#worker = new Worker(program, { name, workerData, execArgv, resourceLimits });
    this.#worker.on('message', (message: FromWorker) => this.#receive(message));
    this.#worker.on('error', (cause) =>
      this.#end(new AppError(codeOf(cause), `Worker ${name} failed: ${reasonOf(cause, memoryMb)}`, { cause })),
    );
    this.#worker.on('exit', (code) => this.#end(new AppError('INTERNAL', `Worker ${name} ended with code ${code}`)));
    // Only a call keeps the process running, not a thread that waits for one.
    this.#worker.unref();
  }

  /** False once the thread has ended; its holder then starts another. */
  get isAlive(): boolean {
    return this.#ended === undefined;
  }

  /** Resolves with what the task returned; rejects with an AppError once it has failed, or surely no longer runs. */
  async call({ task, input, transfer = [], signal, timeoutMs, onProgress }: ThreadCall): Promise<unknown> {
    if (this.#ended) throw this.#ended;
    const current = Object.assign(Promise.withResolvers<unknown>(), { onProgress });
    const timers: NodeJS.Timeout[] = [];
    const endAfter = (ms: number, error: AppError): void => {
      timers.push(setTimeout(() => void this.end(error), ms));
    };
    const abort = (): void => {
      this.#send({ kind: 'abort', reason: `Task ${task} was cancelled` });
      endAfter(this.#graceMs, this.#cancelled(task));
    };
    this.#worker.ref();
    try {
      this.#send({ kind: 'call', task, input }, transfer);
      this.#current = current;
      if (timeoutMs !== undefined)
        void this.#ready.promise.then(
          () => this.#current === current && endAfter(timeoutMs, this.#late(task, timeoutMs)),
        );
      if (signal?.aborted === true) abort();
      signal?.addEventListener('abort', abort, { once: true });
      return await current.promise;
    } catch (cause) {
      throw signal?.aborted === true ? this.#cancelled(task, cause) : toAppError(cause);
    } finally {
      this.#current = undefined;
      signal?.removeEventListener('abort', abort);
      for (const timer of timers) clearTimeout(timer);
      this.#worker.unref();
    }
  }

  /** Ends the thread wherever it is; a call that runs is rejected with the error as soon as it surely runs no more. */
  async end(error = new AppError('CANCELLED', `Worker ${this.#name} was closed`)): Promise<void> {
    this.#ended ??= error;
    await this.#worker.terminate();
    this.#current?.reject(this.#ended);
  }

  #send(message: ToWorker, transfer: readonly Transferable[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  #receive(message: FromWorker): void {
    if (message.kind === 'ready') this.#ready.resolve();
    else if (message.kind === 'progress') this.#current?.onProgress?.(message.value as never);
    else if (message.kind === 'done') this.#current?.resolve(message.output);
    else {
      const cause = Object.assign(new Error(message.message), { stack: message.stack });
      this.#current?.reject(new AppError(message.code, message.message, { cause }));
    }
  }

  #end(error: AppError): void {
    this.#ended ??= error;
    this.#current?.reject(this.#ended);
  }

  #cancelled(task: string, cause?: unknown): AppError {
    return new AppError('CANCELLED', `Task ${task} of worker ${this.#name} was cancelled`, { cause });
  }

  #late(task: string, timeoutMs: number): AppError {
    return new AppError('DEADLINE', `Task ${task} of worker ${this.#name} took longer than ${timeoutMs / 1000} s`);
  }
}

/** A failure that passes passes as well where a library left its rejection unhandled, which ends the thread. */
function codeOf(cause: unknown): 'UNAVAILABLE' | 'INTERNAL' {
  const isOurs = cause instanceof Error && cause.name === 'AppError' && 'code' in cause;
  return isOurs && cause.code === 'UNAVAILABLE' ? 'UNAVAILABLE' : 'INTERNAL';
}

function reasonOf(cause: unknown, memoryMb?: number): string {
  if (!(cause instanceof Error)) return String(cause);
  const isOutOfMemory = 'code' in cause && cause.code === 'ERR_WORKER_OUT_OF_MEMORY';
  const memory = memoryMb === undefined ? 'the memory that this process may use' : `its ${memoryMb} MB of memory`;
  return isOutOfMemory ? `it needs more than ${memory}` : cause.message;
}
