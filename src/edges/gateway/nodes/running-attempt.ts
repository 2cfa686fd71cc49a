import type { StepDetail, TransferStep } from '../../../commands/transfers/steps.ts';
import type { StoringNode } from '../../chain/files/chain.ts';
import { hostPort } from '../../../kit/net-address.ts';
import { type AttemptWatch, watchAttempt } from './attempt-watch.ts';
import type { Dialling } from './connection.ts';
import type { Failures } from './failures.ts';
import type { Hedges } from './hedges.ts';

/** One try with one node. */
export type Attempt = Readonly<{
  node: StoringNode;
  /** Counts from 1 in a run of its task. */
  iteration: number;
  /** Names this attempt to its node, which refuses an id that it has seen: no other attempt of the task has it. */
  attemptId: string;
  dialling: Dialling;
  /** Details of the first state of every attempt. */
  about: StepDetail;
  /** Receives the progress of the try: its phase decides why a task fails. */
  watch: AttemptWatch;
  /** Fails once a node has sent more events than any client wants to read. */
  countEvent: () => void;
}>;

/** What attempts are made with. */
export type Trying = Readonly<{
  nodes: readonly StoringNode[];
  taskId: string;
  /** Number of the last event of the task so far. */
  last: number;
  dialling: Dialling;
  stallMs: number;
  /** The same limit once a node has all that it was to be sent, and works with it. */
  processingMs: number;
  /** Busy nodes are waited for so long in all, two minutes unless set. */
  busyMs?: number;
  signal: AbortSignal;
  /** First state of an attempt. */
  status: string;
  /** Remembers nodes that failed. */
  failures: Failures;
  /** The pace of attempts and the size of the file: with these a slow attempt gets another beside it. */
  hedging?: Readonly<{ hedges: Hedges; bytes: number }>;
  /** Attempts of the same run that were made before. */
  after?: Readonly<{ iteration: number; previousError: string }>;
}>;

/** What an attempt yields next: states, its result, or the reason why it failed. */
export type AttemptNews<T> = Readonly<{ of: RunningAttempt<T> }> &
  (Readonly<{ steps: TransferStep[] }> | Readonly<{ value: T }> | Readonly<{ caught: unknown }>);

/** An attempt under way, perhaps beside another. */
export type RunningAttempt<T> = Readonly<{
  attempt: Attempt;
  startedMs: number;
  /** The next news; the same ones until `resume`. */
  news: () => Promise<AttemptNews<T>>;
  /** Lets it continue after its news were handled. */
  resume: () => void;
  /** Cancels what is under way, and settles once nothing of it is open. */
  end: () => Promise<void>;
}>;

/** What an attempt is started with. */
export type AttemptOptions = Readonly<{
  node: StoringNode;
  /** Counts from 1 in a run of its task. */
  iteration: number;
  onSlow: () => void;
  /** Frees the room that it takes beside another. */
  release: () => void;
}>;

const mostEvents = 1_000;

/** Prepares an attempt with one node; its first `resume` starts it. */
export function prepareAttempt<T>(
  { taskId, last, dialling, stallMs, processingMs, signal, hedging }: Trying,
  work: (attempt: Attempt) => AsyncGenerator<TransferStep[], T>,
  { node, iteration, onSlow, release }: AttemptOptions,
): RunningAttempt<T> {
  const watch = watchAttempt({
    limitMs: (phase) => (phase === 'processing' ? processingMs : stallMs),
    patienceMs: (phase) => hedging?.hedges.patienceMs(phase, hedging.bytes),
    onSlow,
    outer: signal,
  });
  const about = { iteration, supernode: hostPort(node.ip, node.port), nodeAccount: node.account };
  // Each attempt writes a state, so a later run of the task continues after the numbers of this one.
  const attemptId = `${taskId}-${last + iteration}`;
  const attempt = { node, iteration, attemptId, dialling, about, watch, countEvent: counter() };
  const steps = work(attempt);
  let handled = Promise.withResolvers<void>();
  const next = async (): Promise<AttemptNews<T>> => {
    try {
      const { done, value } = await steps.next();
      // Until its states are written, nobody waits for the node.
      void watch.ownTime(handled.promise);
      return done === true ? { of: one, value } : { of: one, steps: value };
    } catch (caught) {
      return { of: one, caught };
    }
  };
  let pending: Promise<AttemptNews<T>> | undefined;
  const one: RunningAttempt<T> = {
    attempt,
    startedMs: performance.now(),
    news: async () => await (pending ??= next()),
    resume: () => {
      handled.resolve();
      handled = Promise.withResolvers();
      watch.restart();
      pending = next();
    },
    end: async () => {
      watch.cancel();
      release();
      await pending;
      // Where it waits for its states to be written, its own end has not run yet.
      await steps.return(undefined as T).catch(() => undefined);
      watch.stop();
    },
  };
  return one;
}

function counter(): () => void {
  let events = 0;
  return () => {
    events += 1;
    if (events > mostEvents) throw new Error(`the node told more than ${mostEvents} events`);
  };
}
