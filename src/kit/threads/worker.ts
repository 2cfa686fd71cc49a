import type { Transferable } from 'node:worker_threads';
import { createSlots } from '../slots.ts';
import { Thread, type ThreadOptions } from './thread.ts';

/**
 * The context of a task beside its input. A task is an exported function of a module that workers load:
 *
 * `export async function compare(input: Input, { signal, progress }: TaskContext<Progress>): Promise<Output>`
 *
 * Input, progress and output travel as structured clones: plain data, no functions and no classes.
 */
export type TaskContext<Progress = never> = Readonly<{
  /**
   * Aborts when the caller wants no result any more; a task that continues nevertheless is ended together with its
   * thread.
   */
  signal: AbortSignal;
  /** Reports to the caller before the result; in order. */
  progress: (value: Progress) => void;
}>;

type InputOf<T> = T extends (input: infer Input, ...rest: never) => unknown ? Input : never;
type ProgressOf<T> = T extends (input: never, context: TaskContext<infer Progress>) => unknown ? Progress : never;
type OutputOf<T> = T extends (...values: never) => infer Output ? Awaited<Output> : never;

/** The names under which a module exports tasks. */
export type WorkerTaskName<Module> = {
  [Key in keyof Module]: Module[Key] extends Function ? Key : never;
}[keyof Module] &
  string;

/** What may end a call, and what is done beside it; `transfer` hands memory over instead of copying it. */
type CallOptions<Progress> = Readonly<{
  signal?: AbortSignal | undefined;
  /** Counts from the moment a thread starts the task: waiting for a free thread, or for its module, does not count. */
  timeoutMs?: number;
  onProgress?: (value: Progress) => void;
  transfer?: readonly Transferable[];
}>;

/** Some threads that run the tasks of one module, and the calls that wait for them. */
export type WorkerPool<Module> = Readonly<{
  /**
   * Runs a task in a thread that is free, the first come first.
   *
   * Rejects with an AppError: of the task's own code, `CANCELLED` when the signal aborted, `DEADLINE` when it took too
   * long, and `INTERNAL` when its thread failed or ended. In each case the task surely runs no more; later calls find
   * another thread.
   */
  call: <Name extends WorkerTaskName<Module>>(
    name: Name,
    input: InputOf<Module[Name]>,
    options?: CallOptions<ProgressOf<Module[Name]>>,
  ) => Promise<OutputOf<Module[Name]>>;
  /** Ends all threads; calls that run or wait are rejected with `CANCELLED`. */
  close: () => Promise<void>;
}>;

/**
 * Prepares worker threads for the tasks of a module; each is started when there is a call for it, and ends once it has
 * waited `idleMs` for another, where that is given.
 *
 * @example
 * import type * as hashing from './hashing-thread.ts';
 * const module = new URL('hashing-thread.ts', import.meta.url);
 * const pool = createWorkerPool<typeof hashing>({ name: 'hashing', module, size: 2 });
 * await pool.call('sha256', bytes, { timeoutMs: 5_000 });
 */
export function createWorkerPool<Module>({
  size,
  idleMs,
  ...how
}: ThreadOptions & { size: number; idleMs?: number }): WorkerPool<Module> {
  const threads = new Set<Thread>();
  const idle = new Map<Thread, NodeJS.Timeout | undefined>();
  const slots = createSlots(size, `A call of worker ${how.name}`);
  const closing = new AbortController();
  const takeThread = (): Thread => {
    const [thread, timer] = [...idle].at(-1) ?? [new Thread(how)];
    clearTimeout(timer);
    idle.delete(thread);
    threads.add(thread);
    if (thread.isAlive) return thread;
    threads.delete(thread);
    return takeThread();
  };
  const endIdle = (thread: Thread): void => {
    idle.delete(thread);
    threads.delete(thread);
    void thread.end();
  };
  const putAside = (thread: Thread): void => {
    const timer = idleMs === undefined ? undefined : setTimeout(endIdle, idleMs, thread).unref();
    idle.set(thread, timer);
  };
  return {
    call: (task, input, { signal, ...rest } = {}) =>
      slots.run(
        async () => {
          const thread = takeThread();
          const output = await thread.call({ task, input, signal, ...rest }).finally(() => putAside(thread));
          return output as OutputOf<Module[typeof task]>;
        },
        AbortSignal.any([closing.signal, ...(signal ? [signal] : [])]),
      ),
    close: async () => {
      closing.abort();
      for (const timer of idle.values()) clearTimeout(timer);
      await Promise.all([...threads].map((thread) => thread.end()));
    },
  };
}

/**
 * Runs one task in a thread of its own, which ends with it.
 *
 * @example
 * const how = { name: 'fold', module: new URL('fold-thread.ts', import.meta.url) };
 * await runInWorker<typeof fold>(how, 'fold', input, { signal });
 */
export async function runInWorker<Module, Name extends WorkerTaskName<Module> = WorkerTaskName<Module>>(
  how: ThreadOptions,
  name: Name,
  input: InputOf<Module[Name]>,
  options?: CallOptions<ProgressOf<Module[Name]>>,
): Promise<OutputOf<Module[Name]>> {
  const pool = createWorkerPool<Module>({ ...how, size: 1 });
  try {
    return await pool.call(name, input, options);
  } finally {
    await pool.close();
  }
}
