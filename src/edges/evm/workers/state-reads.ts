import { toAppError } from '../../../commands/errors.ts';
import { createWorkerPool } from '../../kit/worker.ts';
import { wait } from '../../kit/wait.ts';
import { ExecutionError } from '../executor/execution-error.ts';
import type * as thread from './read-thread.ts';
import type { Readings } from './read-thread.ts';
import type { StateAccess } from './state-access.ts';

type Given<Name extends keyof Readings> = Parameters<Readings[Name]>[1];
type Result<Name extends keyof Readings> = Awaited<ReturnType<Readings[Name]>>;

/** Reads of a chain's states, each in a thread of its own while it lasts. */
export type StateReads = Readonly<{
  /**
   * Reads something at the end of a block.
   *
   * Fails with an ExecutionError for what is wrong with the request, with `DEADLINE` when it takes too long (its
   * thread is ended), with `UNAVAILABLE` when the state of the block does not come in time.
   *
   * @example
   * const balance = await reads.read('account', { at: header, address })
   */
  read: <Name extends keyof Readings>(name: Name, given: Given<Name>, signal?: AbortSignal) => Promise<Result<Name>>;
  close: () => Promise<void>;
}>;

/** How many threads read, how long one reading may take, and how long it waits for a state that is not stored yet. */
export type StateReadsOptions = Readonly<{
  access: StateAccess;
  threads: number;
  timeoutMs: number;
  lateMs?: number;
}>;

const memoryMb = 512;
/**
 * A block is shown a moment before its state is stored, or, where who seals was killed in between, once that process is
 * there again and has executed the block. No older state is read instead: nonces of it would be used twice.
 */
const usualLateMs = 20_000;
/** Pauses between attempts, the last one again and again: each attempt costs a thread some milliseconds. */
const againMs = [20, 20, 20, 50, 100, 250] as const;
/** Of readings that nobody cancels. */
const { signal: never } = new AbortController();

/** Prepares threads that read; each starts with the first reading that finds no other free. */
export function createStateReads(options: StateReadsOptions): StateReads {
  const { access, threads, timeoutMs, lateMs = usualLateMs } = options;
  const module = new URL('read-thread.ts', import.meta.url);
  const pool = createWorkerPool<typeof thread>({ name: 'evm-reads', module, memoryMb, size: threads });
  return {
    close: () => pool.close(),
    read: async <Name extends keyof Readings>(
      name: Name,
      given: Given<Name>,
      signal: AbortSignal = never,
    ): Promise<Result<Name>> => {
      const until = Date.now() + lateMs;
      for (let attempt = 0; ; attempt += 1) {
        try {
          const answered = await pool.call('read', { access, name, given }, { timeoutMs, signal });
          if ('value' in answered) return answered.value as Result<Name>;
          const { code, message, data } = answered.failure;
          throw new ExecutionError(code, message, data);
        } catch (caught) {
          if (caught instanceof ExecutionError || toAppError(caught).code !== 'UNAVAILABLE') throw caught;
          if (Date.now() > until) throw caught;
          await wait(againMs[attempt] ?? 250, signal);
        }
      }
    },
  };
}
