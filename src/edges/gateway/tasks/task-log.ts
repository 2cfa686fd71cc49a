import { createHash, randomBytes } from 'node:crypto';
import { type Requested, RequestTransfer } from '../../../commands/transfers/request.ts';
import {
  endings,
  type KnownTransfer,
  RecordRetrievals,
  RecordTransfers,
  type Step,
  type TransferEvent,
} from '../../../commands/transfers/steps.ts';
import type { Fact } from '../../../events/catalogue.ts';
import { dispatch } from '../../bus.ts';
import type { Log } from '../../log/log.ts';

/** A task as the log has it: under which kind and name, and how it stands. */
export type Task = Readonly<{
  /** What its client names it by; unknown of a private file's after a restart. */
  id: string;
  kind: 'transfer' | 'retrieval';
  /** What it stands in the log by. */
  name: string;
  known: KnownTransfer;
}>;

/** What was asked of an upload. */
export type UploadAsked = Fact<'UploadRequested'>['data'];

/** A task id that nobody can guess: 128 random bits. */
export function newTaskId(): string {
  return randomBytes(16).toString('hex');
}

/** The name of a private file's task in the log. */
export function retrievalName(taskId: string): string {
  return createHash('sha256').update(taskId).digest('hex');
}

/** Whether a text may be a task id. */
export function isTaskId(text: string): boolean {
  return /^[\da-f]{32}$/.test(text);
}

/** Writes what was asked for and `sdk:started`; the task has begun once this resolves. */
export async function beginTask(log: Log, id: string, requested: Requested): Promise<Task> {
  const isPrivate = requested.direction === 'download' && requested.isPrivate;
  const name = isPrivate ? retrievalName(id) : id;
  const { states } = await dispatch(log, new RequestTransfer(new Map([[name, requested]]), { at: requested.at }));
  const begun = states.get(name);
  if (begun?.state === undefined) throw new Error('A task began without a state');
  return { id, kind: isPrivate ? 'retrieval' : 'transfer', name, known: begun.state };
}

/** Writes the next states of a task, all or none; gives the task as it is now. One that has ended stays as it is. */
export async function recordSteps(log: Log, task: Task, steps: readonly Step[], at: string): Promise<Task> {
  const given = new Map([[task.name, { task: task.name, at, steps }]]);
  const Command = task.kind === 'transfer' ? RecordTransfers : RecordRetrievals;
  const { states } = await dispatch(log, new Command(given, { at }));
  const now = states.get(task.name);
  return now?.state ? { ...task, known: now.state } : task;
}

/** The task of an id as it stands now, or undefined. */
export async function findTask(log: Log, id: string): Promise<Task | undefined> {
  if (!isTaskId(id)) return undefined;
  for (const [kind, name] of [
    ['transfer', id],
    ['retrieval', retrievalName(id)],
  ] as const) {
    const last = (await log.last(kind, [name])).get(name);
    const known = last && knownOf(last.fact);
    if (known) return { id, kind, name, known };
  }
  return undefined;
}

/** What was asked for with an upload's task. */
export async function uploadAsked(log: Log, id: string): Promise<UploadAsked | undefined> {
  const asked = (await log.last('request', [id])).get(id)?.fact;
  return asked?.type === 'UploadRequested' ? asked.data : undefined;
}

/** The states of a task after a number, in order, as they are in the log now. */
export async function* statesOf(log: Log, { kind, name }: Task, after: number): AsyncGenerator<TransferEvent> {
  for await (const page of log.history(kind, name, 0))
    for (const { fact } of page) {
      const event = eventOf(fact);
      if (event && event.number > after) yield event;
    }
}

/** Every private task of the log that has not ended. */
export async function openRetrievals(log: Log): Promise<Task[]> {
  const all = await log.lastOfAll('retrieval');
  return [...all].flatMap(([name, { fact }]) => {
    const known = knownOf(fact);
    return known && !known.ended ? [{ id: name, kind: 'retrieval' as const, name, known }] : [];
  });
}

/** Whether nothing comes after a state. */
export function isEnding({ status }: TransferEvent): boolean {
  return endings.has(status);
}

function knownOf(fact: Fact): KnownTransfer | undefined {
  return 'event' in fact.data ? fact.data.known : undefined;
}

function eventOf(fact: Fact): TransferEvent | undefined {
  return 'event' in fact.data ? fact.data.event : undefined;
}
