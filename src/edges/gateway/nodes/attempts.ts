import type { Step, StepDetail } from '../../../commands/transfers/steps.ts';
import type { StoringNode } from '../../cascade/chain.ts';
import { hostPort } from '../../kit/net-address.ts';
import { type Dialling, nodePort } from './connection.ts';
import { cleaned } from './states.ts';

/** One try with one node. */
export type Attempt = Readonly<{
  node: StoringNode;
  /** Counts from 1 in its task. */
  iteration: number;
  taskId: string;
  dialling: Dialling;
  /** What every first state of an attempt says. */
  about: StepDetail;
  watch: Watch;
  /** Fails once a node has told more than anybody wants to read. */
  countEvent: () => void;
  /** To be called once the node was sent the whole file: what comes late then is its processing. */
  onSent: () => void;
}>;

/** Ends an attempt in which nothing moves. */
export type Watch = Readonly<{ signal: AbortSignal; moved: () => void; stop: () => void }>;

/** What attempts are made with. */
export type Trying = Readonly<{
  nodes: readonly StoringNode[];
  taskId: string;
  dialling: Dialling;
  stallMs: number;
  signal: AbortSignal;
  /** State that an attempt begins with. */
  status: string;
}>;

/** How attempts ended: with what one of them came to, or the reason of the last that failed, and its state. */
export type Outcome<T> = Readonly<{ value: T }> | Readonly<{ error: string; tries: number; status: string }>;

const mostAttempts = 10;
const rounds = 2;
const mostEvents = 1_000;

/**
 * Tries one node after the other, all of them twice and ten times at most, until one try comes to something.
 *
 * A failure shows only as the next attempt, with its reason. `settled` is asked after each failure whether another try
 * makes sense. Fails only when the signal aborts.
 */
export async function* tryNodes<T>(
  trying: Trying,
  work: (attempt: Attempt) => AsyncGenerator<Step[], T>,
  settled: () => Promise<T | undefined>,
): AsyncGenerator<Step[], Outcome<T>> {
  const { nodes, taskId, dialling, stallMs, signal, status } = trying;
  const order = Array.from({ length: rounds }, () => nodes)
    .flat()
    .slice(0, mostAttempts);
  let previousError = '';
  let isLate = false;
  for (const [index, node] of order.entries()) {
    const iteration = index + 1;
    const supernode = hostPort(node.ip, dialling.port ?? nodePort);
    const about: StepDetail = { iteration, supernode, nodeAccount: node.account };
    yield [{ status, detail: previousError === '' ? about : { ...about, previousError } }];
    const watch = watchStall(stallMs, signal);
    let events = 0;
    const countEvent = (): void => {
      events += 1;
      if (events > mostEvents) throw new Error(`the node told more than ${mostEvents} events`);
    };
    let isSent = false;
    const onSent = (): void => void (isSent = true);
    try {
      return { value: yield* work({ node, iteration, taskId, dialling, about, watch, countEvent, onSent }) };
    } catch (caught) {
      signal.throwIfAborted();
      isLate = watch.signal.aborted && isSent;
      previousError = cleaned(watch.signal.aborted ? 'nothing moved for too long' : reasonOf(caught));
    } finally {
      watch.stop();
    }
    const value = await settled();
    if (value !== undefined) return { value };
  }
  const ending = isLate ? 'sdk:processing_timeout' : 'sdk:supernodes_unavailable';
  return { error: previousError, tries: order.length, status: ending };
}

function watchStall(stallMs: number, outer: AbortSignal): Watch {
  const stalled = new AbortController();
  const timer = setTimeout(() => stalled.abort(new Error('nothing moved for too long')), stallMs);
  return {
    signal: AbortSignal.any([stalled.signal, outer]),
    moved: () => void timer.refresh(),
    stop: () => clearTimeout(timer),
  };
}

function reasonOf(caught: unknown): string {
  return caught instanceof Error ? caught.message : String(caught);
}
