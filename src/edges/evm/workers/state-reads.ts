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
   * thread is ended), with `UNAVAILABLE` when the state of the block does not come within a moment.
   *
   * @example
   * const balance = await reads.read('account', { at: header, address })
   */
  read: <Name extends keyof Readings>(name: Name, given: Given<Name>, signal?: AbortSignal) => Promise<Result<Name>>;
  close: () => Promise<void>;
}>;

/** How many threads read, and how long one reading may take. */
export type StateReadsOptions = Readonly<{ access: StateAccess; threads: number; timeoutMs: number }>;

const memoryMb = 512;
/** A block is shown a moment before its state is stored. */
const lateMs = 2_000;
const againMs = 20;
/** Of readings that nobody cancels. */
const { signal: never } = new AbortController();

/** Prepares threads that read; each starts with the first reading that finds no other free. */
export function createStateReads({ access, threads, timeoutMs }: StateReadsOptions): StateReads {
  const module = new URL('read-thread.ts', import.meta.url);
  const pool = createWorkerPool<typeof thread>({ name: 'evm-reads', module, memoryMb, size: threads });
  return {
    close: () => pool.close(),
    read: async <Name extends keyof Readings>(
      name: Name,
      given: Given<Name>,
      signal: AbortSignal = never,
    ): Promise<Result<Name>> => {
      const options = { timeoutMs, signal };
      for (const until = Date.now() + lateMs; ;) {
        try {
          const answered = await pool.call('read', { access, name, given }, options);
          if ('value' in answered) return answered.value as Result<Name>;
          const { code, message, data } = answered.failure;
          throw new ExecutionError(code, message, data);
        } catch (caught) {
          if (caught instanceof ExecutionError || toAppError(caught).code !== 'UNAVAILABLE') throw caught;
          if (Date.now() > until) throw caught;
          await wait(againMs, signal);
        }
      }
    },
  };
}
