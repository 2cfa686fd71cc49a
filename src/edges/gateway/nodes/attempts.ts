import { Code, ConnectError } from '@connectrpc/connect';
import type { TransferStep, StepDetail } from '../../../commands/transfers/steps.ts';
import { wait } from '../../../kit/wait.ts';
import type { StoringNode } from '../../chain/files/chain.ts';
import { isTooLarge } from '../../rpc/too-large.ts';
import type { Hedges } from './hedges.ts';
import { DiskFailure } from './own-disk.ts';
import { type Attempt, prepareAttempt, type RunningAttempt, type Trying } from './running-attempt.ts';
import { cleaned } from './states.ts';

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
const away = 'sdk:supernodes_unavailable';

/**
 * Tries one node after the other, all of them twice and ten times at most, until one try succeeds.
 *
 * A node that is busy with others did not fail: it is tried again after the rest, later and later, for two
 * minutes.
 *
 * A failure shows only as the next attempt, with its reason. After each failure, `settled` decides whether another try
 * makes sense. While an attempt is slow, one with the next node runs beside it: the first that succeeds ends the other,
 * which is no failure of its node. Fails only when the signal aborts, and with `DiskFailure`: that is no node's fault.
 */
export async function* tryNodes<T>(
  trying: Trying,
  work: (attempt: Attempt) => AsyncGenerator<TransferStep[], T>,
  settled: () => Promise<T | undefined>,
): AsyncGenerator<TransferStep[], AttemptsOutcome<T>> {
  const { nodes, signal, after } = trying;
  const order = [...nodes, ...nodes].slice(0, mostAttempts);
  const before = after?.iteration ?? 0;
  const failures: Failure[] = [];
  const running: RunningAttempt<T>[] = [];
  const queue = createQueue(order, trying);
  let wake = Promise.withResolvers<undefined>();
  const onSlow = (): void => wake.resolve(undefined);
  let started = 0;
  let mayHedge = true;
  try {
    for (;;) {
      wake = Promise.withResolvers();
      if (running.length === 0) await queue.turnOf(order[started]);
      const node = order[started];
      const release = node && roomFor(node, running, mayHedge ? trying.hedging?.hedges : undefined);
      if (node && release) {
        started += 1;
        const one = prepareAttempt(trying, work, { node, iteration: before + started, onSlow, release });
        running.push(one);
        yield [firstState(trying, running, failures.at(-1)?.reason ?? after?.previousError)];
        one.resume();
      }
      if (running.length === 0) return { failure: worstOf(failures), tries: before + order.length, failures };
      const news = await Promise.race([wake.promise, ...running.map(async (one) => await one.news())]);
      if (news === undefined) continue;
      const { of: one } = news;
      if ('steps' in news) {
        yield news.steps;
        one.resume();
        continue;
      }
      running.splice(running.indexOf(one), 1);
      await one.end();
      if ('value' in news) {
        recordSuccess(trying, one, running);
        return { value: news.value };
      }
      signal.throwIfAborted();
      const isOurs = news.caught instanceof DiskFailure;
      if (isOurs && running.length === 0) throw news.caught;
      // Our disk has no room for two: the other may come to its end alone.
      mayHedge &&= !isOurs;
      if (isOurs) continue;
      failures.push(failureOf(news.caught, one.attempt));
      // Where another has its transaction sent, this one may have failed for that alone: the chain decides.
      if (running.some(({ attempt }) => attempt.watch.phase() === 'sealing')) continue;
      const value = await settled();
      if (value !== undefined) return { value };
      if (!queue.takes(news.caught, one.attempt.node)) trying.failures.failed(one.attempt.node.account);
    }
  } finally {
    await Promise.all(running.map(async (one) => await one.end()));
  }
}

const [firstAgainMs, mostAgainMs] = [250, 8_000];
/** A store that is full says the same, so busy nodes are waited for no longer in all, other tries aside. */
const usualBusyMs = 120_000;
/** It has no turn left for this caller, or is still at work for a caller before, whose connection broke off. */
const busyCodes: readonly Code[] = [Code.ResourceExhausted, Code.AlreadyExists];

/** The nodes that were busy: `takes` puts one behind the others, `turnOf` waits until it is tried again. */
function createQueue(order: StoringNode[], { signal, busyMs = usualBusyMs }: Trying) {
  let waitedMs = 0;
  const busy = new Set<string>();
  let pauseMs = firstAgainMs;
  return {
    takes: (caught: unknown, node: StoringNode): boolean => {
      if (!(caught instanceof ConnectError) || !busyCodes.includes(caught.code)) return false;
      if (isTooLarge(caught.rawMessage)) return false;
      busy.add(node.account);
      if (waitedMs < busyMs) order.push(node);
      return true;
    },
    /** Waits before a node that was busy. Fails when the signal aborts. */
    turnOf: async (node: StoringNode | undefined): Promise<void> => {
      if (!node || !busy.has(node.account)) return;
      await wait(pauseMs * (0.75 + Math.random() / 2), signal);
      waitedMs += pauseMs;
      pauseMs = Math.min(mostAgainMs, 2 * pauseMs);
      signal.throwIfAborted();
    },
  };
}

/**
 * Returns what frees the room of an attempt where there is room: always for the first, and beside slow ones as far as
 * the gateway has some; none is beside another of its own node, or beside two whose nodes have all of the bytes.
 */
function roomFor<T>(
  node: StoringNode,
  running: readonly RunningAttempt<T>[],
  hedges: Hedges | undefined,
): (() => void) | undefined {
  if (running.length === 0) return () => undefined;
  if (!hedges || running.length >= hedges.atOnce) return undefined;
  if (running.some(({ attempt: { watch, node: other } }) => !watch.isSlow() || other.account === node.account))
    return undefined;
  const working = running.filter(({ attempt: { watch } }) => !['dialling', 'sending'].includes(watch.phase()));
  return working.length < 2 ? hedges.reserve() : undefined;
}

function firstState<T>(
  { status }: Trying,
  running: readonly RunningAttempt<T>[],
  previousError: string | undefined,
): TransferStep {
  const message = 'the attempt before it is slow and continues beside it';
  const detail: StepDetail = {
    ...running.at(-1)?.attempt.about,
    ...(previousError === undefined || previousError === '' ? {} : { previousError }),
    ...(running.length > 1 ? { message } : {}),
  };
  return { status, detail };
}

/** Remembers the pace of an attempt that succeeded; the nodes of slower ones come later, though they did not fail. */
function recordSuccess<T>(
  { failures, hedging }: Trying,
  { attempt, startedMs }: RunningAttempt<T>,
  others: readonly RunningAttempt<T>[],
): void {
  failures.succeeded(attempt.node.account);
  for (const other of others) if (other.startedMs < startedMs) failures.overtaken(other.attempt.node.account);
  const silences = attempt.watch.silences();
  hedging?.hedges.record({ bytes: hedging.bytes, silences, tookMs: performance.now() - startedMs });
}

/** A node that is away now does not outweigh the answer of one that was there. */
function worstOf(failures: readonly Failure[]): Failure {
  const failure = failures.findLast(({ state }) => state !== away) ?? failures.at(-1);
  if (!failure) throw new Error('No SuperNode was tried');
  return failure;
}

function failureOf(caught: unknown, { node, watch }: Attempt): Failure {
  const [isStalled, phase] = [watch.isStalled(), watch.phase()];
  const why = { node, reason: isStalled ? 'nothing moved for too long' : cleaned(reported(caught)) };
  if (phase === 'dialling') return { ...why, state: away };
  return isStalled && phase === 'processing' ? { ...why, state: 'sdk:processing_timeout' } : why;
}

function reported(caught: unknown): string {
  // This side did not cancel: the library uses this code for the stream of a connection that is gone.
  if (caught instanceof ConnectError && caught.code === Code.Canceled) return 'the connection broke off';
  return caught instanceof Error ? caught.message : String(caught);
}
