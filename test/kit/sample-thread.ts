import { threadId } from 'node:worker_threads';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../../src/kit/errors.ts';
import type { TaskContext } from '../../src/kit/threads/worker.ts';

/** Tasks of the worker kit's test. */
export function sum(numbers: readonly number[], { progress }: TaskContext<{ soFar: number }>): number {
  let soFar = 0;
  for (const n of numbers) {
    soFar += n;
    progress({ soFar });
  }
  return soFar;
}

/** Says in which thread it runs. */
export const where = (): number => threadId;

/** Fails with an error of ours. */
export function refuse(message: string): never {
  throw new AppError('CONFLICT', message);
}

/** Fails with an error of nobody. */
export function stumble(): never {
  throw new TypeError('no such thing');
}

/** Waits until it is told to stop, and tells the flag that it was. */
export async function linger(flag: Int32Array, { signal, progress }: TaskContext<'begun'>): Promise<void> {
  progress('begun');
  await delay(600_000, undefined, { signal }).catch((caught: unknown) => {
    Atomics.store(flag, 0, 1);
    throw caught;
  });
}

/** Takes a core and looks at nothing. */
export function spin(_: null, { progress }: TaskContext<'begun'>): never {
  progress('begun');
  for (;;) Math.random();
}

/** Leaves a failure that passes to nobody, and goes on. */
export async function abandon(): Promise<void> {
  void Promise.reject(new AppError('UNAVAILABLE', 'The store is away for now'));
  await delay(600_000);
}

/** Ends its thread. */
export function crash(code: number): never {
  process.exit(code);
}

/** Needs memory without end. */
export function devour(): never {
  const held: number[][] = [];
  for (;;) held.push(Array.from({ length: 10_000 }, () => Math.random()));
}

/** Answers how many bytes it was given. */
export const weigh = (bytes: ArrayBuffer): number => bytes.byteLength;

/** Which flags its thread was started with. */
export const flags = (): readonly string[] => process.execArgv;
