import { createHash, randomBytes } from 'node:crypto';
import { type Requested, RequestTransfer } from '../../../commands/transfers/request.ts';
import { ResumeTransfers } from '../../../commands/transfers/resume.ts';
import {
  endings,
  type KnownTransfer,
  RecordRetrievals,
  RecordTransfers,
  type TransferStep,
  type StepDetail,
  type Steps,
  type TransferEvent,
} from '../../../commands/transfers/steps.ts';
import { AppError } from '../../../kit/errors.ts';
import type { Fact } from '../../../events/catalogue.ts';
import { dispatch } from '../../bus.ts';
import { wait } from '../../../kit/wait.ts';
import type { Log } from '../../../engine/log/log.ts';

/** A task as the log has it: its kind, its name and its state. */
export type Task = Readonly<{
  /** What its client names it by; unknown of a private file's after a restart. */
  id: string;
  kind: 'transfer' | 'retrieval';
  /** Its name in the log. */
  name: string;
  known: KnownTransfer;
}>;

/** The request of an upload. */
export type RequestedUpload = Fact<'UploadRequested'>['data'];

/** A task id that no client can guess: 128 random bits. */
export function newTaskId(): string {
  return randomBytes(16).toString('hex');
}

/** The name of a private file's task in the log. */
export function retrievalName(taskId: string): string {
  return createHash('sha256').update(taskId).digest('hex');
}

/** Returns whether a text may be a task id. */
export function isTaskId(text: string): boolean {
  return /^[\da-f]{32}$/.test(text);
}

/** The name in the log of a requested task. */
export function nameOf(
  id: string,
  requested: Readonly<{ direction: 'upload' } | { direction: 'download'; isPrivate: boolean }>,
): string {
  return requested.direction === 'download' && requested.isPrivate ? retrievalName(id) : id;
}

/** Writes the request and `sdk:started`; the task has started once this resolves. */
export async function startTask(log: Log, id: string, requested: Requested): Promise<Task> {
  const name = nameOf(id, requested);
  const { states } = await dispatch(log, new RequestTransfer(new Map([[name, requested]]), { at: requested.at }));
  const firstState = states.get(name);
  if (firstState?.state === undefined) throw new Error('A task began without a state');
  return { id, kind: name === id ? 'transfer' : 'retrieval', name, known: firstState.state };
}

/**
 * Writes the states that follow the known ones of a task, all or none; returns the task as it is now.
 *
 * A task that has ended stays as it is, and so does one that another process has resumed. Safe to repeat.
 */
export async function recordSteps(log: Log, task: Task, steps: readonly TransferStep[], at: string): Promise<Task> {
  return await record(log, task, { at, steps, after: task.known.last });
}

async function record(log: Log, task: Task, now: Omit<Steps, 'task' | 'holder'>): Promise<Task> {
  const input = new Map([[task.name, { ...now, task: task.name, holder: task.known.holder }]]);
  const Command = task.kind === 'transfer' ? RecordTransfers : RecordRetrievals;
  const { states } = await dispatch(log, new Command(input, { at: now.at }));
  const known = states.get(task.name)?.state;
  return known ? { ...task, known } : task;
}

/** Ends a task that no gateway can resume; one that has ended by now stays as it is. */
export async function endTask(log: Log, task: Task, detail: StepDetail): Promise<void> {
  await record(log, task, { at: new Date().toISOString(), steps: [{ status: 'sdk:failed', detail }] });
}

/**
 * Assigns a task of a process that is gone to another; undefined where the task has ended or another process was first.
 */
export async function resumeTask(
  log: Log,
  task: Task,
  by: Readonly<{ holder: string; store: string }>,
): Promise<Task | undefined> {
  const options = new Map([[task.name, { task: task.name, from: task.known.holder, ...by }]]);
  const { states } = await dispatch(log, new ResumeTransfers(options, { at: new Date().toISOString() }));
  const known = states.get(task.name)?.state;
  return known && !known.ended && known.holder === by.holder ? { ...task, known } : undefined;
}

/** The task of an id as it is now, or undefined where the leader of the log has none. */
export async function findTask(log: Log, id: string): Promise<Task | undefined> {
  if (!isTaskId(id)) return undefined;
  const names = [
    ['transfer', id],
    ['retrieval', retrievalName(id)],
  ] as const;
  for (const [kind, name] of names) {
    const task = taskOf((await log.last(kind, [name])).get(name)?.fact);
    if (task) return { ...task, id };
  }
  // Any copy of the log may have answered, also one that lags.
  for (const [kind, name] of names) {
    const task = taskOf((await log.confirmedLast(kind, name))?.fact);
    if (task) return { ...task, id };
  }
  return undefined;
}

/** A task as it is now. */
export async function currentTask(log: Log, task: Task): Promise<Task> {
  const now = taskOf((await log.last(task.kind, [task.name])).get(task.name)?.fact);
  return now ? { ...now, id: task.id } : task;
}

/** The request of an upload's task. */
export async function uploadRequested(log: Log, id: string): Promise<RequestedUpload | undefined> {
  const last = (await log.last('request', [id])).get(id) ?? (await log.confirmedLast('request', id));
  return last?.fact.type === 'UploadRequested' ? last.fact.data : undefined;
}

const lagMs = 20;
const mostLags = 250;

/**
 * The states of a task after a number, in order, as they are in the log now; at least those that the task is known to
 * have: a copy of the log that lags is read again.
 */
export async function* statesOf(log: Log, { kind, name, known }: Task, after: number): AsyncGenerator<TransferEvent> {
  let seen = after;
  for (let lags = 0; ; lags++) {
    for await (const page of log.history(kind, name, 0)) {
      const events = page.flatMap(({ fact }) => eventOf(fact) ?? []).filter(({ number }) => number > seen);
      yield* events;
      seen = events.at(-1)?.number ?? seen;
    }
    if (seen >= known.last) return;
    if (lags >= mostLags) throw new AppError('UNAVAILABLE', 'The log does not have all states of the task yet');
    await wait(lagMs, new AbortController().signal);
  }
}

/** The task that a fact is about, as it is after it; the id of a private one is its name, for no fact holds it. */
export function taskOf(fact: Fact | undefined): Task | undefined {
  if (!fact) return undefined;
  const { data } = fact;
  const known = 'known' in data ? data.known : undefined;
  if (known === undefined || !('beganAt' in known)) return undefined;
  if ('retrieval' in data) return { id: data.retrieval, kind: 'retrieval', name: data.retrieval, known };
  return 'task' in data ? { id: data.task, kind: 'transfer', name: data.task, known } : undefined;
}

/** Returns whether nothing comes after a state. */
export function isEnding({ status }: TransferEvent): boolean {
  return endings.has(status);
}

function eventOf(fact: Fact): TransferEvent | undefined {
  return 'event' in fact.data ? fact.data.event : undefined;
}
