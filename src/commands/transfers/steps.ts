import type { Fact } from '../../events/catalogue.ts';
import { Command, type Decider } from '../decider.ts';

/** The state of a transfer that every fact repeats. */
export type KnownTransfer = Fact<'TransferStarted'>['data']['known'];
/** One state of a task, as its facts hold it. */
export type TransferEvent = NonNullable<Fact<'TransferStarted'>['data']['event']>;
/** The details of a state. */
export type StepDetail = NonNullable<TransferEvent['detail']>;

/** A state that a transfer enters: `sdk:…` or `supernode:…`, with its details. */
export type TransferStep = Readonly<{ status: string; detail?: StepDetail }>;

/** States that a task enters one after another, to be written together. */
export type Steps = Readonly<{
  /** Task id, or its SHA-256 where the file is private. */
  task: string;
  /** RFC 3339, UTC. */
  at: string;
  steps: readonly TransferStep[];
  /** The process that the task is known to be carried out by: where that is another one now, nothing is decided. */
  holder?: string | undefined;
  /** Number of the last state that these follow, where they follow a certain one: then they are written once. */
  after?: number;
}>;

type State = KnownTransfer | undefined;

/**
 * The next states of a task, numbered on from the last one; none once it has ended.
 *
 * A task starts with its request (`RequestTransfer`): without one nothing is decided.
 */
export const transferring: Decider<Steps, State, 'transfer'> = {
  kind: 'transfer',
  initialState: undefined,
  after: ({ data: { known } }) => known,
  decide: (input, known) =>
    numbered(input, known).map((next) => ({
      type: `Transfer${endingOf(next.event)}` as const,
      data: { task: input.task, ...next },
    })),
};

/** The same for the fetching of a private file, which the log knows only by the SHA-256 of its task id. */
export const retrieving: Decider<Steps, State, 'retrieval'> = {
  kind: 'retrieval',
  initialState: undefined,
  after: ({ data: { known } }) => known,
  decide: (options, known) =>
    numbered(options, known).map((next) => ({
      type: `Retrieval${endingOf(next.event)}` as const,
      data: { retrieval: options.task, ...next },
    })),
};

/** Records the states of uploads and of downloads of public files. */
export class RecordTransfers extends Command<Steps, State> {}

/** Records the states of retrievals of private files. */
export class RecordRetrievals extends Command<Steps, State> {}

/** States after which nothing comes. */
export const endings: ReadonlySet<string> = new Set(['sdk:completed', 'sdk:failed']);

type Numbered = Readonly<{ event: TransferEvent; known: KnownTransfer }>;

/** States of a task from `known` on, up to the one that ends it; none where another process carries it out. */
export function numbered({ at, steps, holder, after }: Omit<Steps, 'task'>, known: State): Numbered[] {
  if (known === undefined || known.ended || known.holder !== holder) return [];
  if (after !== undefined && known.last !== after) return [];
  const last = steps.findIndex(({ status }) => endings.has(status));
  const accepted = last < 0 ? steps : steps.slice(0, last + 1);
  return accepted.map(({ status, detail = {} }, index) => {
    const number = known.last + index + 1;
    return { event: { number, status, at, detail }, known: { ...known, last: number, ended: endings.has(status) } };
  });
}

function endingOf({ status }: TransferEvent): 'Progressed' | 'Completed' | 'Failed' {
  if (status === 'sdk:completed') return 'Completed';
  return status === 'sdk:failed' ? 'Failed' : 'Progressed';
}
