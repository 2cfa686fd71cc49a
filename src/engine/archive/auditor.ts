import pLimit, { type LimitFunction } from 'p-limit';
import type { StreamName } from '../../events/streams.ts';
import { type AnyProjection, projections } from '../../projections/all.ts';
import type { Logger } from '../../kit/logger.ts';
import { repeat } from '../../kit/repeat.ts';
import { wait } from '../../kit/wait.ts';
import { createWorkerPool, runInWorker, type WorkerPool } from '../../kit/threads/worker.ts';
import type { Leasing } from '../log/leases.ts';
import type { Rebuild } from '../models/build/rebuild-in-worker.ts';
import { onDamage } from '../models/pool.ts';
import { archivedStreams, type BothStores, currentState } from './archive.ts';
import { type Brakes, brakes as usual, type Observation, type StreamState, streamStates } from './states.ts';
import type * as thread from './thread.ts';

/** What auditing takes. */
export type Auditing = BothStores &
  Readonly<{
    /** For the threads that compare. */
    access: thread.StoresAccess;
    rebuild: Rebuild;
    leases: Leasing;
    log: Logger;
    /** Time from the end of one comparison of a stream or a read model to the start of the next. */
    scrubIntervalMs: number;
    /** Events of a stream compared in a second at most, where nothing is suspected. */
    scrubPerSecond: number;
    brakes?: Brakes;
    signal: AbortSignal;
  }>;

const watchEachMs = 1000;
const afterFailureMs = 1000;
/** A start has better things to do at first. */
const afterStartMs = 2000;
const auditThread = { name: 'audit', module: new URL('thread.ts', import.meta.url) };
/** The thread of a routine comparison, which needs little and takes no more; what repairs may need more. */
export const routineThread = { ...auditThread, memoryMb: 40 };
/** One comparison follows the other: a thread for each would load the same modules again and again. */
const idleMs = 1000;

/**
 * Compares each stream with its archive and each read model with the log, at the start, at each interval and when
 * something is suspected, until the signal ends it; repairs what may be repaired without an operator. One process at a
 * time does so.
 *
 * The work is done in threads, one paced comparison at a time. Never fails: what goes wrong is logged and tried again.
 */
export async function runAuditor(auditing: Auditing): Promise<void> {
  const { leases, log, signal } = auditing;
  const audit = async (during: Auditing): Promise<void> => {
    const paced = pLimit(1);
    const models = new ModelSuspicion();
    const routine = createWorkerPool<typeof thread>({ ...routineThread, size: 1, idleMs });
    const ofModels = createWorkerPool<typeof thread>({ ...auditThread, size: 1, idleMs });
    const stop = onDamage(auditing.store.pools, () => models.tell());
    try {
      await Promise.all([
        ...archivedStreams(auditing).map((stream) => auditStream(during, stream, { paced, models, threads: routine })),
        auditModels(during, { paced, models, threads: ofModels }),
      ]);
    } finally {
      stop();
      await Promise.all([routine.close(), ofModels.close()]);
    }
  };
  const hold = (): Promise<void> =>
    leases.hold('audit', signal, (lease) => audit({ ...auditing, signal: lease.signal }));
  await repeat('the auditor gave up its lease', hold, { everyMs: afterFailureMs, log, signal });
}

/** Wakes the comparison of the read models. */
class ModelSuspicion {
  #told = new AbortController();

  tell(): void {
    this.#told.abort();
  }

  /** A signal that aborts at the next word, and forgets those before. */
  next(): AbortSignal {
    this.#told = new AbortController();
    return this.#told.signal;
  }
}

type Shared = Readonly<{ paced: LimitFunction; models: ModelSuspicion; threads: WorkerPool<typeof thread> }>;

/** When a stream is examined next, what was observed of it, and its last state by the broker's counters. */
type Due = Readonly<{ afterMs: number; before: Observation | undefined; seen: StreamState }>;

async function auditStream(auditing: Auditing, stream: StreamName, shared: Shared): Promise<void> {
  const { signal } = auditing;
  let due: Due = { afterMs: afterStartMs, before: undefined, seen: 'whole' };
  while (!signal.aborted) due = await auditOnce(auditing, stream, { ...shared, due });
}

/**
 * Examines a stream when it is due or suspected: paced and in turn with the others, or, where there is a suspicion, at
 * once.
 */
async function auditOnce(
  auditing: Auditing,
  stream: StreamName,
  { paced, models, threads, due }: Shared & { due: Due },
): Promise<Due> {
  const { log, signal, scrubIntervalMs, scrubPerSecond: perSecond } = auditing;
  const { before } = due;
  const watch = watchStream(auditing, stream, due.seen);
  const either = AbortSignal.any([signal, watch.suspected]);
  try {
    await wait(due.afterMs, either);
    if (signal.aborted) return due;
    const match =
      before !== undefined || watch.suspected.aborted
        ? await examineAtOnce(auditing, stream, { before, signal })
        : await inTurn(paced, either, () => {
            const task = taskOf(auditing, stream, { perSecond });
            return threads.call('examineStream', task, { signal: either });
          });
    if (match.findings.length > 0) log.error({ stream, findings: match.findings }, 'damage found in a store');
    if (match.done.length > 0) {
      log.warn({ stream, done: match.done }, 'a store was repaired');
      models.tell();
    }
    return {
      afterMs: match.again?.afterMs ?? scrubIntervalMs * (0.9 + Math.random() / 10),
      before: match.again?.since,
      seen: match.done.length > 0 ? 'whole' : (watch.told() ?? due.seen),
    };
  } catch (err) {
    if (!either.aborted) log.warn({ err, stream }, 'comparison of a stream waits');
    // The next watch reports the same suspicion, and has to come before the next turn.
    return { ...due, afterMs: watch.suspected.aborted ? 10 * watchEachMs : afterFailureMs };
  } finally {
    await watch.stop();
  }
}

/** Does paced work once it is its turn; fails at once when the signal ends the wait for it. */
async function inTurn<T>(paced: LimitFunction, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const end = (): void => reject(new Error('It is not waited for any more', { cause: signal.reason }));
  signal.addEventListener('abort', end, { once: true });
  const working = paced(async () => {
    signal.throwIfAborted();
    signal.removeEventListener('abort', end);
    return await work();
  });
  try {
    return await Promise.race([working, ended]);
  } finally {
    signal.removeEventListener('abort', end);
    working.catch(() => undefined);
  }
}

type Examining = Readonly<{ before?: Observation | undefined; perSecond?: number }>;

function taskOf({ access, brakes = usual }: Auditing, stream: StreamName, how: Examining) {
  return { access, stream, brakes, ...how };
}

function examineAtOnce(
  auditing: Auditing,
  stream: StreamName,
  { signal, ...how }: Examining & { signal: AbortSignal },
): ReturnType<typeof thread.examineStream> {
  const task = taskOf(auditing, stream, how);
  return runInWorker<typeof thread, 'examineStream'>(auditThread, 'examineStream', task, { signal });
}

/** Watches a stream: `suspected` aborts once something speaks against it that was not known already. */
function watchStream(
  { signal: outer, ...stores }: Auditing,
  stream: StreamName,
  seen: StreamState,
): Readonly<{ suspected: AbortSignal; told: () => StreamState | undefined; stop: () => Promise<void> }> {
  const [suspected, over] = [new AbortController(), new AbortController()];
  const signal = AbortSignal.any([outer, over.signal]);
  let reported: StreamState | undefined;
  const watch = async (): Promise<'done' | void> => {
    const { head, state } = await currentState(stores, stream);
    if (!head) return;
    reported = state;
    const isNews = reported !== seen && streamStates[reported].repair !== 'no repair';
    if (head.suspicion === null && !isNews) return;
    suspected.abort();
    return 'done';
  };
  const each = { everyMs: watchEachMs, firstMs: watchEachMs, signal };
  const watching = repeat('a stream was not watched', watch, each);
  return {
    suspected: suspected.signal,
    told: () => reported,
    stop: async () => {
      over.abort();
      await watching;
    },
  };
}

async function auditModels(auditing: Auditing, { paced, models, threads }: Shared): Promise<void> {
  const { signal, scrubIntervalMs } = auditing;
  const auditAll = async (): Promise<void> => {
    const notified = models.next();
    for (const projection of projections) await paced(() => auditModel(auditing, projection, threads));
    await wait(scrubIntervalMs, AbortSignal.any([signal, notified]));
  };
  await repeat('read models were not compared', auditAll, {
    everyMs: 0,
    retryMs: afterFailureMs,
    firstMs: afterStartMs,
    signal,
  });
}

async function auditModel(
  auditing: Auditing,
  projection: AnyProjection,
  threads: WorkerPool<typeof thread>,
): Promise<void> {
  const { access, store, log, signal } = auditing;
  const { name, stream } = projection;
  if (signal.aborted) return;
  try {
    const task = { access, projection: name };
    const differs = await threads.call('examineModel', task, { signal });
    if (differs === undefined) return;
    log.error({ projection: name, differs }, 'a read model differs from the log; rebuilding it');
    const { generation } = await auditing.rebuild(projection, { signal });
    const done = `Read model ${name} was rebuilt from the log; generation ${generation} is live.`;
    await store.recordRepair(stream, [differs, done]);
    log.warn({ projection: name, generation }, 'a store was repaired');
  } catch (err) {
    if (!signal.aborted) log.warn({ err, projection: name }, 'comparison of a read model waits');
  }
}
