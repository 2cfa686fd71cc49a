import { type Cursors, createCursors } from '../../http/cursor.ts';
import type { RestDependencies } from './dependencies.ts';
import { type Keep, keepAnswers } from './answer-cache.ts';
import { type LagTracker, trackLag } from './lag.ts';
import { createRanks, type Ranks } from './ranks.ts';
import { createRead } from './reads.ts';

/** What the routes share: the dependencies, and what is made of them once. */
export type RouteDependencies = RestDependencies &
  Readonly<{
    read: Keep;
    cursors: Cursors;
    lag: LagTracker;
    ranks: Ranks;
  }>;

/** Makes what the routes share; from now on the log is watched until the signal ends it. */
export function shareDependencies(dependencies: RestDependencies): RouteDependencies {
  const lag = trackLag(dependencies.heads, dependencies);
  return {
    ...dependencies,
    lag,
    read: keepAnswers(createRead(dependencies, lag)),
    cursors: createCursors(dependencies.cursorKey),
    ranks: createRanks(),
  };
}
