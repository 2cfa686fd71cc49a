import { randomUUID } from 'node:crypto';
import { AppError, toAppError } from '../../kit/errors.ts';
import type { ErrorBody } from '../http/errors.ts';

/** The states of an operation. */
export const operationStatuses = ['running', 'succeeded', 'failed', 'cancelled'] as const;

/** How far an operation is: so many of about so many. */
export type OperationProgress = Readonly<{ done: number; total: number }>;

/** Long work of an operator: what it is of, how far it is, and its result or its error. */
export type Operation = Readonly<{
  id: string;
  act: string;
  target: string;
  status: (typeof operationStatuses)[number];
  startedAt: string;
  endedAt: string | null;
  progress: OperationProgress | null;
  result: object | null;
  /** With its detail: it is for the operator. */
  error: ErrorBody | null;
}>;

/** The work of an operation; it ends early when the signal aborts. */
export type OperationWork = (
  options: Readonly<{ signal: AbortSignal; onProgress: (progress: OperationProgress) => void }>,
) => Promise<object>;

/** What an operator has done: an act on a target, at most once for each key. */
export type Act = Readonly<{ act: string; target: string; key?: string | undefined }>;

/** The operations of this process, the last ones of them; a restart forgets them. */
export type OperatorWork = Readonly<{
  list: () => readonly Operation[];
  /** Fails with `NOT_FOUND`. */
  find: (id: string) => Operation;
  /**
   * Starts work, unless an operation of the same key exists: then returns that one. Fails with `CONFLICT` where the key
   * was used for another act, and with `TOO_MANY_REQUESTS` while as many run as may.
   */
  start: (act: Act, work: OperationWork) => Operation;
  /** Ends the work of an operation that runs, and returns it; nothing where it has ended. */
  cancel: (id: string) => Operation;
  /** Ends all that run, and waits for them. */
  close: () => Promise<void>;
}>;

const mostRunning = 4;
const mostRemembered = 100;

type Entry = { now: Operation; key: string | undefined; stop: AbortController; ended: Promise<void> };

/** Makes the list of operations; `onEnd` is called with each that has ended. */
export function createOperations(clock: () => number, onEnd: (operation: Operation) => void): OperatorWork {
  const entries = new Map<string, Entry>();
  const entryOf = (id: string): Entry => {
    const entry = entries.get(id);
    if (entry) return entry;
    throw new AppError('NOT_FOUND', 'There is no such operation; a restart forgets them, and the last 100 are kept.');
  };
  return {
    list: () => [...entries.values()].map(({ now }) => now).toReversed(),
    find: (id) => entryOf(id).now,
    start: ({ act, target, key }, work) => {
      const known = key === undefined ? undefined : [...entries.values()].find((one) => one.key === key);
      if (known && (known.now.act !== act || known.now.target !== target))
        throw new AppError('CONFLICT', `This Idempotency-Key was used to ${known.now.act} ${known.now.target}.`);
      if (known) return known.now;
      makeRoom(entries);
      const entry = startedEntry({ act, target, key }, clock);
      entries.set(entry.now.id, entry);
      entry.ended = carryOut(entry, work, clock).then(() => onEnd(entry.now));
      return entry.now;
    },
    cancel: (id) => {
      const entry = entryOf(id);
      entry.stop.abort();
      return entry.now;
    },
    close: async () => {
      for (const { stop } of entries.values()) stop.abort();
      await Promise.all([...entries.values()].map(({ ended }) => ended));
    },
  };
}

/** Forgets the first operation that has ended, where there are as many as are kept. */
function makeRoom(entries: Map<string, Entry>): void {
  const running = [...entries.values()].filter(({ now }) => now.status === 'running');
  if (running.length >= mostRunning)
    throw new AppError('TOO_MANY_REQUESTS', `As many operations run as may at once: ${mostRunning}. Wait for one.`);
  const oldest = [...entries.values()].find(({ now }) => now.status !== 'running');
  if (entries.size >= mostRemembered && oldest) entries.delete(oldest.now.id);
}

function startedEntry({ act, target, key }: Act, clock: () => number): Entry {
  const now: Operation = {
    id: randomUUID(),
    act,
    target,
    status: 'running',
    startedAt: new Date(clock()).toISOString(),
    endedAt: null,
    progress: null,
    result: null,
    error: null,
  };
  return { now, key, stop: new AbortController(), ended: Promise.resolve() };
}

async function carryOut(entry: Entry, work: OperationWork, clock: () => number): Promise<void> {
  const { signal } = entry.stop;
  const onProgress = ({ done, total }: OperationProgress): void => {
    entry.now = { ...entry.now, progress: { done, total: Math.max(done, total) } };
  };
  const [outcome] = await Promise.allSettled([work({ signal, onProgress })]);
  const endedAt = new Date(clock()).toISOString();
  if (outcome.status === 'fulfilled') entry.now = { ...entry.now, status: 'succeeded', endedAt, result: outcome.value };
  else {
    const status = signal.aborted ? 'cancelled' : 'failed';
    const { code, message } = toAppError(outcome.reason);
    entry.now = { ...entry.now, status, endedAt, error: { error: message, code } };
  }
}
