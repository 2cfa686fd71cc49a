import type { OperationEnd } from '../../commands/ops/operating.ts';
import { AppError, toAppError } from '../../kit/errors.ts';
import type { Logger } from '../../kit/logger.ts';
import { repeat } from '../../kit/repeat.ts';
import type { ActHolder } from './act-holder.ts';
import {
  type Act,
  type Operation,
  operationId,
  type OperationProgress,
  type OperationRecords,
} from './operation-records.ts';

/** The work of an operation; it ends early when the signal aborts. */
export type OperationWork = (
  options: Readonly<{ signal: AbortSignal; onProgress: (progress: Pick<OperationProgress, 'done' | 'total'>) => void }>,
) => Promise<object>;

/** Whoever worked on an operation does so no more, and nobody knows how far it was. */
export class Interrupted extends Error {}

/** The operations of a network: each request and each end is a fact, and this process works on some of them. */
export type OperatorWork = Readonly<{
  /** The last 100, of all processes. */
  list: () => Promise<readonly Operation[]>;
  /** Fails with `NOT_FOUND`. */
  find: (id: string) => Promise<Operation>;
  /**
   * Starts work once its request is in the log, unless an operation of the same key exists: then returns that one.
   * Fails with `CONFLICT` where the key was used for another act, and with `TOO_MANY_REQUESTS` while as many run here
   * as may.
   */
  start: (act: Act, work: OperationWork) => Promise<Operation>;
  /**
   * Records a short act from before it is done to how it ended, and returns or throws what it did. Neither counts it
   * for the operations that run nor can it be cancelled.
   */
  record: RecordAct;
  /**
   * Ends the work of an operation that runs, and returns it; nothing where it has ended. Fails with `CONFLICT` where
   * another process works on it.
   */
  cancel: (id: string) => Promise<Operation>;
  /** Waits until an operation that runs here has ended, and returns it. */
  settled: (id: string) => Promise<Operation>;
  /** Ends all that run here as interrupted, and waits for them. */
  close: () => Promise<void>;
}>;

/** Does a short act of an operator, which the log records. */
export type RecordAct = <T extends object>(act: Act, work: () => Promise<T>) => Promise<T>;

/** What operations need. */
export type OperationsOptions = Readonly<{
  records: OperationRecords;
  holder: ActHolder;
  clock: () => number;
  logger: Logger;
}>;

const mostRunning = 4;
const mostListed = 100;
const retryMs = 1000;
/** How often acts whose process may be gone are searched for. */
const searchMs = 5000;

/** `first` is where its progress was first reported: an estimate counts from there. */
type Entry = {
  progress: OperationProgress | null;
  first: Readonly<{ done: number; at: number }> | undefined;
  stop: AbortController;
  requested: Promise<Operation>;
  ended: Promise<void>;
};

/** Makes the operations of a process, and reports those of processes that are gone as interrupted. */
export function createOperations(options: OperationsOptions): OperatorWork {
  const { records, holder } = options;
  const running = new Map<string, Entry>();
  const closing = new AbortController();
  const withProgress = (one: Operation): Operation => ({ ...one, progress: running.get(one.id)?.progress ?? null });
  const find = async (id: string): Promise<Operation> => {
    const match = await records.find(id);
    if (match) return withProgress(match);
    throw new AppError('NOT_FOUND', 'There is no such operation.');
  };
  const searching = repeat('operations of processes that are gone were not searched for', interrupter(options), {
    everyMs: searchMs,
    log: options.logger,
    signal: closing.signal,
  });
  return {
    find,
    list: async () => (await records.latest()).slice(0, mostListed).map(withProgress),
    start: async (act, work) => {
      const id = operationId(act.key);
      const before = await (running.get(id)?.requested ?? (act.key === undefined ? undefined : records.find(id)));
      if (before) return withProgress(sameAct(before, act));
      const { requested } = running.get(id) ?? startEntry({ id, act, work }, { ...options, running, closing });
      return sameAct(await requested, act);
    },
    record: recorderOf({ ...options, closing }),
    cancel: async (id) => {
      const one = await find(id);
      if (one.status === 'running' && !running.has(id))
        throw new AppError('CONFLICT', `Process ${one.holder} works on this operation: end it there.`);
      running.get(id)?.stop.abort();
      return one;
    },
    settled: async (id) => {
      await running.get(id)?.ended;
      return await find(id);
    },
    close: async () => {
      closing.abort();
      for (const { stop } of running.values()) stop.abort();
      await Promise.allSettled([searching, ...[...running.values()].map(({ ended }) => ended)]);
      await holder.close();
    },
  };
}

function sameAct(known: Operation, { act, target }: Act): Operation {
  if (known.act === act && known.target === target) return known;
  throw new AppError('CONFLICT', `This Idempotency-Key was used to ${known.act} ${known.target}.`);
}

type Carrying = OperationsOptions & Readonly<{ closing: AbortController }>;
type Starting = Carrying & Readonly<{ running: Map<string, Entry> }>;
type Wanted = Readonly<{ id: string; act: Act; work: OperationWork }>;

/** Takes a slot at once, so that no more than may run do; gives it back where the request turns out to be known. */
function startEntry({ id, act, work }: Wanted, starting: Starting): Entry {
  const { running, records, holder } = starting;
  if (running.size >= mostRunning)
    throw new AppError('TOO_MANY_REQUESTS', `As many operations run as may at once: ${mostRunning}. Wait for one.`);
  const request = async () => await records.request(id, act, await holder.announced());
  const isRequested = request();
  const requested = isRequested.then(async () => {
    const one = await records.find(id);
    if (one) return one;
    throw new AppError('UNAVAILABLE', 'The log does not show the operation that was requested; try again.');
  });
  const entry: Entry = {
    progress: null,
    first: undefined,
    stop: new AbortController(),
    requested,
    ended: Promise.resolve(),
  };
  running.set(id, entry);
  entry.ended = isRequested
    .then(async ({ isNew }) => (isNew ? await carryOut({ id, entry, work }, starting) : undefined))
    .catch(() => undefined)
    .finally(() => running.delete(id));
  return entry;
}

function recorderOf(options: Carrying): RecordAct {
  const { records, holder } = options;
  return async <T extends object>(act: Act, work: () => Promise<T>): Promise<T> => {
    const id = operationId(undefined);
    await records.request(id, act, await holder.announced());
    const done = Promise.withResolvers<T>();
    const entry = { progress: null, first: undefined, stop: new AbortController() };
    const observed = async (): Promise<object> => {
      done.resolve(work());
      await done.promise;
      return {};
    };
    await carryOut({ id, entry, work: observed }, options);
    return await done.promise;
  };
}

async function carryOut(
  { id, entry, work }: Readonly<{ id: string; entry: Pick<Entry, 'stop' | 'progress' | 'first'>; work: OperationWork }>,
  { records, clock, logger, closing }: Carrying,
): Promise<void> {
  const { signal } = entry.stop;
  const [outcome] = await Promise.allSettled([
    work({ signal, onProgress: (progress) => note(entry, progress, clock()) }),
  ]);
  const end = endOf(id, outcome, signal.aborted ? (closing.signal.aborted ? 'stopped' : 'cancelled') : undefined);
  logger.info({ operation: id, end: end.step }, 'an operation has ended');
  const record = async (): Promise<'done'> => {
    await records.end(end);
    return 'done';
  };
  // A process that stops tries once: what it leaves open is interrupted for the next one.
  if (closing.signal.aborted) await record();
  else
    await repeat('the end of an operation was not recorded', record, {
      everyMs: retryMs,
      log: logger,
      signal: closing.signal,
    });
}

function endOf(
  operation: string,
  outcome: PromiseSettledResult<object>,
  aborted: 'stopped' | 'cancelled' | undefined,
): OperationEnd {
  if (outcome.status === 'fulfilled') return { step: 'complete', operation, result: outcome.value };
  if (aborted === 'stopped') return { step: 'interrupt', operation, reason: 'The process that worked on it stopped' };
  if (outcome.reason instanceof Interrupted) return { step: 'interrupt', operation, reason: outcome.reason.message };
  const { code, message } = toAppError(outcome.reason);
  if (aborted === 'cancelled' || code === 'CANCELLED') return { step: 'cancel', operation };
  return { step: 'fail', operation, code, message };
}

function note(
  entry: Pick<Entry, 'progress' | 'first'>,
  { done, total }: Pick<OperationProgress, 'done' | 'total'>,
  at: number,
): void {
  entry.first ??= { done, at };
  const { first } = entry;
  const most = Math.max(done, total);
  const isKnown = done > first.done && at > first.at;
  const etaSeconds = isKnown ? ((most - done) * (at - first.at)) / (done - first.done) / 1000 : null;
  entry.progress = { done, total: most, etaSeconds };
}

/**
 * Records acts as interrupted whose process is announced no more. It reads the acts before the processes: whoever
 * works on an act was announced before the act was requested.
 */
function interrupter({ records, holder, logger }: OperationsOptions): () => Promise<void> {
  return async () => {
    const open = (await records.latest()).filter((one) => one.status === 'running' && !holder.isOwn(one.holder));
    if (open.length === 0) return;
    const present = await holder.present();
    for (const one of open.filter(({ holder: name }) => !present.has(name))) {
      await records.end({ step: 'interrupt', operation: one.id, reason: 'The process that worked on it is gone' });
      logger.warn({ operation: one.id, act: one.act, target: one.target }, 'an operation was interrupted');
    }
  };
}
