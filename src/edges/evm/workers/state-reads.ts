import { toAppError } from '../../../kit/errors.ts';
import { createFairSlots, type SlotClaim } from '../../../kit/fair-slots.ts';
import { createWorkerPool } from '../../../kit/threads/worker.ts';
import { wait } from '../../../kit/wait.ts';
import { ExecutionError } from '../executor/execution-error.ts';
import type * as thread from './read-thread.ts';
import type { ThreadAnswer, Readings, ReadTask } from './read-thread.ts';
import type { StateAccess } from './state-access.ts';

type Input<Name extends keyof Readings> = Parameters<Readings[Name]>[1];
type Result<Name extends keyof Readings> = Awaited<ReturnType<Readings[Name]>>;

/** Reads of a chain's states, each in a thread of its own while it lasts. */
export type StateReads = Readonly<{
  /**
   * Reads something at the end of a block, for a caller until its signal aborts.
   *
   * Fails with an ExecutionError for what is wrong with the request, with `DEADLINE` when it takes too long (its
   * thread is ended), with `UNAVAILABLE` when the state of the block does not come in time, with `CANCELLED` when the
   * signal aborts.
   *
   * @example
   * const balance = await reads.read('account', { at: header, address })
   */
  read: <Name extends keyof Readings>(name: Name, input: Input<Name>, claim?: SlotClaim) => Promise<Result<Name>>;
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
/** A call that no client waits for any more may finish within this time, before it is ended with its thread. */
const graceMs = 100;
/**
 * A block is shown a moment before its state is stored, or, where the sealer was killed in between, once it has started
 * again and executed the block. No older state is read instead: nonces of it would be used twice.
 */
const usualLateMs = 20_000;
/** Pauses between attempts, the last one again and again: each attempt costs a thread some milliseconds. */
const againMs = [20, 20, 20, 50, 100, 250] as const;
/** Of readings for this program itself. */
const own: SlotClaim = { caller: '', signal: new AbortController().signal };
/** Slots of one account that are read in a moment. */
const fewSlots = 32;

/** Returns whether a reading takes a moment only: such ones never wait for calls. */
function isShort(name: keyof Readings, values: unknown): boolean {
  if (name !== 'storage') return name === 'account' || name === 'code' || name === 'storedHeader';
  return (values as Input<'storage'>).slots.length <= fewSlots;
}

/** The same readings for one caller. */
export function boundReads({ read, close }: StateReads, claim: SlotClaim): StateReads {
  return { read: (name, given) => read(name, given, claim), close };
}

/**
 * Prepares threads that read; each starts with the first reading that finds no other free.
 *
 * Accounts, codes and slots are read in a thread of their own, beside `threads` for calls and all else; in both,
 * callers come by turns.
 */
export function createStateReads(options: StateReadsOptions): StateReads {
  const { access, threads, timeoutMs, lateMs = usualLateMs } = options;
  const [short, long] = [lane({ size: 1, timeoutMs }), lane({ size: threads, timeoutMs, endsWithCaller: true })];
  return {
    close: async () => {
      await Promise.all([short.close(), long.close()]);
    },
    read: async <Name extends keyof Readings>(
      name: Name,
      given: Input<Name>,
      claim: SlotClaim = own,
    ): Promise<Result<Name>> => {
      const until = Date.now() + lateMs;
      const { read } = isShort(name, given) ? short : long;
      for (let attempt = 0; ; attempt += 1) {
        try {
          const answered = await read({ access, name, given }, claim);
          if ('value' in answered) return answered.value as Result<Name>;
          const { code, message, data } = answered.failure;
          throw new ExecutionError(code, message, data);
        } catch (caught) {
          if (caught instanceof ExecutionError || toAppError(caught).code !== 'UNAVAILABLE') throw caught;
          if (Date.now() > until) throw caught;
          await wait(againMs[attempt] ?? 250, claim.signal);
          if (claim.signal.aborted) throw caught;
        }
      }
    },
  };
}

type Lane = Readonly<{ read: (task: ReadTask, claim: SlotClaim) => Promise<ThreadAnswer>; close: () => Promise<void> }>;

/** Threads in which callers come by turns; where a reading ends with its caller, its thread may end with it. */
function lane(options: Readonly<{ size: number; timeoutMs: number; endsWithCaller?: boolean }>): Lane {
  const { size, timeoutMs, endsWithCaller = false } = options;
  const module = new URL('read-thread.ts', import.meta.url);
  const pool = createWorkerPool<typeof thread>({ name: 'evm-reads', module, memoryMb, size, graceMs });
  const slots = createFairSlots(size, 'A reading of the state');
  return {
    close: () => pool.close(),
    read: (task, claim) =>
      slots.run(() => pool.call('read', task, { timeoutMs, signal: endsWithCaller ? claim.signal : undefined }), claim),
  };
}
