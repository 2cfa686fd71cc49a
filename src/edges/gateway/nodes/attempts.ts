import { Code, ConnectError } from '@connectrpc/connect';
import type { TransferStep, StepDetail } from '../../../commands/transfers/steps.ts';
import type { StoringNode } from '../../chain/files/chain.ts';
import { hostPort } from '../../../kit/net-address.ts';
import type { Dialling } from './connection.ts';
import type { Failures } from './failures.ts';
import { DiskFailure } from './own-disk.ts';
import { cleaned } from './states.ts';

/** The progress of a try: connected to its node, or having sent it the complete file. */
export type AttemptStage = 'connected' | 'sent';

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
  watch: AttemptWatch;
  /** Fails once a node has sent more events than any client wants to read. */
  countEvent: () => void;
  /** Receives the progress of the try: it decides why a task fails. */
  reach: (position: AttemptStage) => void;
}>;

/** Ends an attempt in which nothing moves; `extend` sets another limit from now on. */
export type AttemptWatch = Readonly<{
  signal: AbortSignal;
  moved: () => void;
  extend: (limitMs: number) => void;
  stop: () => void;
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
  signal: AbortSignal;
  /** First state of an attempt. */
  status: string;
  /** Remembers nodes that failed. */
  failures: Failures;
  /** Attempts of the same run that were made before. */
  after?: Readonly<{ iteration: number; previousError: string }>;
}>;

/** The outcome of attempts: the result of one, or the last failure of one that reached its node, if any did. */
export type AttemptsOutcome<T> =
  Readonly<{ value: T }> | Readonly<{ failure: Failure; tries: number; failures: readonly Failure[] }>;

/** Why a try failed; `state` is its name, where there is one for it. */
export type Failure = Readonly<{
  node: StoringNode;
  reason: string;
  state?: 'sdk:supernodes_unavailable' | 'sdk:processing_timeout';
}>;

const mostAttempts = 10;
const rounds = 2;
const mostEvents = 1_000;
const away = 'sdk:supernodes_unavailable';

/**
 * Tries one node after the other, all of them twice and ten times at most, until one try succeeds.
 *
 * A failure shows only as the next attempt, with its reason. After each failure, `settled` decides whether another try
 * makes sense. Fails only when the signal aborts, and with `DiskFailure`: that is no node's fault.
 */
export async function* tryNodes<T>(
  trying: Trying,
  work: (attempt: Attempt) => AsyncGenerator<TransferStep[], T>,
  settled: () => Promise<T | undefined>,
): AsyncGenerator<TransferStep[], AttemptsOutcome<T>> {
  const { nodes, taskId, last, dialling, stallMs, processingMs, signal, status, failures: memory, after } = trying;
  const order = Array.from({ length: rounds }, () => nodes)
    .flat()
    .slice(0, mostAttempts);
  const failures: Failure[] = [];
  let previousError = after?.previousError ?? '';
  for (const [index, node] of order.entries()) {
    const iteration = (after?.iteration ?? 0) + index + 1;
    const supernode = hostPort(node.ip, node.port);
    const about: StepDetail = { iteration, supernode, nodeAccount: node.account };
    yield [{ status, detail: previousError === '' ? about : { ...about, previousError } }];
    const watch = watchStall(stallMs, signal);
    let location: AttemptStage | undefined;
    const reach = (now: AttemptStage): void => {
      location = now;
      if (now === 'sent') watch.extend(processingMs);
    };
    // Each attempt writes a state, so a later run of the task continues after the numbers of this one.
    const attemptId = `${taskId}-${last + iteration}`;
    try {
      const value = yield* work({ node, iteration, attemptId, dialling, about, watch, countEvent: counter(), reach });
      memory.succeeded(node.account);
      return { value };
    } catch (caught) {
      signal.throwIfAborted();
      if (caught instanceof DiskFailure) throw caught;
      const failure = failureOf(caught, { node, place: location, watch });
      previousError = failure.reason;
      memory.failed(node.account);
      failures.push(failure);
    } finally {
      watch.stop();
    }
    const value = await settled();
    if (value !== undefined) return { value };
  }
  return { failure: worstOf(failures), tries: (after?.iteration ?? 0) + order.length, failures };
}

/** A node that is away now does not outweigh the answer of one that was there. */
function worstOf(failures: readonly Failure[]): Failure {
  const failure = failures.findLast(({ state }) => state !== away) ?? failures.at(-1);
  if (!failure) throw new Error('No SuperNode was tried');
  return failure;
}

function failureOf(
  caught: unknown,
  { node, place, watch }: Pick<Attempt, 'node' | 'watch'> & Readonly<{ place: AttemptStage | undefined }>,
): Failure {
  const isStalled = watch.signal.aborted;
  const why = { node, reason: isStalled ? 'nothing moved for too long' : cleaned(reported(caught)) };
  if (place === undefined) return { ...why, state: away };
  return isStalled && place === 'sent' ? { ...why, state: 'sdk:processing_timeout' } : why;
}

function counter(): () => void {
  let events = 0;
  return () => {
    events += 1;
    if (events > mostEvents) throw new Error(`the node told more than ${mostEvents} events`);
  };
}

function watchStall(stallMs: number, outer: AbortSignal): AttemptWatch {
  const stalled = new AbortController();
  const startTimer = (limitMs: number): NodeJS.Timeout =>
    setTimeout(() => stalled.abort(new Error('nothing moved for too long')), limitMs);
  let timer = startTimer(stallMs);
  return {
    signal: AbortSignal.any([stalled.signal, outer]),
    moved: () => void timer.refresh(),
    extend: (limitMs) => {
      clearTimeout(timer);
      timer = startTimer(limitMs);
    },
    stop: () => clearTimeout(timer),
  };
}

function reported(caught: unknown): string {
  // This side did not cancel: the library uses this code for the stream of a connection that is gone.
  if (caught instanceof ConnectError && caught.code === Code.Canceled) return 'the connection broke off';
  return caught instanceof Error ? caught.message : String(caught);
}
