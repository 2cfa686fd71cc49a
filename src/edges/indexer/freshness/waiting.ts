import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { AppError } from '../../../kit/errors.ts';
import { wait } from '../../../kit/wait.ts';
import type { ProjectionName } from '../../../projections/projection.ts';

/** The sequence that each of some projections has to reach. */
export type Targets = ReadonlyMap<ProjectionName, number>;

/** Requests that wait for projections; a waiting one holds neither a snapshot nor a connection to the database. */
export type Waiting = Readonly<{
  /**
   * Resolves when the projections are said to have reached their targets, or the time is over; the caller checks.
   * Fails with `BEHIND` where too many wait already, and with `CANCELLED` once the caller of `answer` hangs up.
   */
  until: (targets: Targets, limits: Readonly<{ withinMs: number; answer: Writable }>) => Promise<void>;
}>;

/** Calls back when a projection advances, until the returned function is called. */
export type OnMoved = (
  report: (advanced: Readonly<{ projection: ProjectionName; sequence: number }>) => void,
) => () => void;

type Waiter = Readonly<{ targets: Targets; wake: () => void }>;

const mostWaiters = 1000;

/** Makes the waiting room of a server, which closes with its signal. */
export function createWaiting(onMoved: OnMoved, signal: AbortSignal): Waiting {
  const reached = new Map<ProjectionName, number>();
  const waiters = new Set<Waiter>();
  const isReached = ({ targets }: Pick<Waiter, 'targets'>): boolean =>
    [...targets].every(([name, sequence]) => (reached.get(name) ?? -1) >= sequence);
  const end = onMoved(({ projection, sequence }) => {
    reached.set(projection, sequence);
    for (const waiter of waiters) if (isReached(waiter)) waiter.wake();
  });
  signal.addEventListener('abort', end, { once: true });
  return {
    until: async (targets, { withinMs, answer }) => {
      if (waiters.size >= mostWaiters)
        throw new AppError('BEHIND', `${mostWaiters} requests wait already; try again soon, or do without a wait.`);
      if (isReached({ targets })) return;
      const ending = new AbortController();
      const waiter: Waiter = { targets, wake: () => ending.abort() };
      const isOver = AbortSignal.any([ending.signal, signal]);
      const hungUp = once(answer, 'close', { signal: isOver }).then(
        () => true,
        () => false,
      );
      waiters.add(waiter);
      const isGone = await Promise.race([hungUp, wait(withinMs, isOver).then(() => false)]);
      waiters.delete(waiter);
      ending.abort();
      if (isGone) throw new AppError('CANCELLED', 'The caller hung up while it waited.');
    },
  };
}
