import type { Fact, FactOf } from '../../events/catalogue.ts';
import { AppError } from '../../kit/errors.ts';
import type { Handled } from '../handle.ts';
import { Command } from '../decider.ts';
import type { Decision, FactLog } from '../ports.ts';
import type { KnownTransfer } from './steps.ts';

/** A client's request, beside its task id; `holder` is the process that carries it out. */
export type Requested = Readonly<{ holder?: string }> &
  (
    | Readonly<{ direction: 'upload' } & Omit<Fact<'UploadRequested'>['data'], 'task'>>
    | Readonly<{ direction: 'download'; isPrivate: boolean } & Omit<Fact<'DownloadRequested'>['data'], 'task'>>
  );

/** The name of a private file's task in the log: SHA-256 of its id, in hexadecimal digits. */
export type TaskName = string;

/**
 * Starts a task: its request and its first state, `sdk:started`, in one batch.
 *
 * `task` is a random id, for a private file the SHA-256 of one; a private file has no fact of its request.
 */
export class RequestTransfer extends Command<Requested, KnownTransfer | undefined> {}

/** Starts tasks; fails with `CONFLICT` where one is started already. */
export async function requestTransfer(log: FactLog, command: object): Promise<Handled<KnownTransfer>> {
  if (!(command instanceof RequestTransfer)) throw new AppError('INTERNAL', 'A RequestTransfer was expected');
  const requests = [...command.given].map(([task, requested]) => beginning(task, requested));
  const last = await log.append(
    requests.flatMap(({ decisions }) => decisions),
    command.cause,
  );
  const facts = last.ids.length;
  const states = requests.map(({ task, known }) => [task, { state: known, sequence: 0 }] as const);
  return { facts, last, states: new Map(states) };
}

function beginning(
  task: TaskName,
  requested: Requested,
): Readonly<{ task: TaskName; known: KnownTransfer; decisions: readonly Decision[] }> {
  const { action, direction, store, at, holder } = requested;
  const held = holder === undefined ? {} : { holder };
  const known: KnownTransfer = { action, direction, last: 1, beganAt: at, ended: false, store, ...held };
  const event = { number: 1, status: 'sdk:started', at, detail: {} };
  if (requested.direction === 'download' && requested.isPrivate)
    return {
      task,
      known,
      decisions: [decision('retrieval', task, { type: 'RetrievalStarted', data: { retrieval: task, event, known } })],
    };
  return {
    task,
    known,
    decisions: [
      decision('request', task, requestFact(task, requested)),
      decision('transfer', task, { type: 'TransferStarted', data: { task, event, known } }),
    ],
  };
}

function decision(kind: Decision['kind'], entity: string, fact: Fact): Decision {
  return { kind, entity, facts: [fact], expected: 0 };
}

function requestFact(task: string, requested: Requested): FactOf<'request'> {
  if (requested.direction === 'upload') {
    const { direction: _, holder: __, ...asked } = requested;
    return { type: 'UploadRequested', data: { task, ...asked } };
  }
  const { action, at, store } = requested;
  return { type: 'DownloadRequested', data: { task, action, at, store } };
}
