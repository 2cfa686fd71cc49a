import { type Cursors, createCursors } from './cursor.ts';
import type { RestDependencies } from './dependencies.ts';
import { type Keep, keepAnswers } from './kept-answers.ts';
import { type LagTracker, trackLag } from './lag.ts';
import { createRanks, type Ranks } from './ranks.ts';
import { createRead, type Read } from './reads.ts';

/** What the routes share: the dependencies, and what is made of them once. */
export type RouteDependencies = RestDependencies &
  Readonly<{
    read: Read;
    /** For costly reads; those of payments, which are many, do not drive out the others. */
    keep: Keep;
    keepPayments: Keep;
    cursors: Cursors;
    lag: LagTracker;
    ranks: Ranks;
  }>;

/** Makes what the routes share; from now on the log is watched until the signal ends it. */
export function shareDependencies(dependencies: RestDependencies): RouteDependencies {
  const lag = trackLag(dependencies.heads, dependencies);
  const read = createRead(dependencies, lag);
  return {
    ...dependencies,
    lag,
    read,
    keep: keepAnswers(read),
    keepPayments: keepAnswers(read),
    cursors: createCursors(dependencies.cursorKey),
    ranks: createRanks(),
  };
}
