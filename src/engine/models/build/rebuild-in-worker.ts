import type { AnyProjection } from '../../../projections/all.ts';
import { runInWorker } from '../../../kit/threads/worker.ts';
import { StopError } from '../database-error.ts';
import type { FactSource } from '../engine/source.ts';
import type { Pools } from '../pool.ts';
import type { RebuildProgress } from './load.ts';
import { rebuild, type Rebuilt } from './rebuild.ts';
import type * as thread from './rebuild-thread.ts';
import type { RebuildInput } from './rebuild-thread.ts';

/** Where rebuilds are made: a thread opens connections of its own, a short rebuild uses `source` and `pools`. */
type Workplace = Omit<RebuildInput, 'name'> &
  Readonly<{ pools: Pools; source: FactSource; shortOfFacts?: number | undefined }>;

/** How one projection is rebuilt, wherever that happens. */
export type Rebuild = (
  projection: AnyProjection,
  options: Readonly<{ signal: AbortSignal; onProgress?: (progress: RebuildProgress) => void }>,
) => Promise<Rebuilt>;

/** A thread takes most of a second to start; a stream of fewer facts is folded by then, a little at a time. */
const usuallyShort = 10_000;

/**
 * Rebuilds as `rebuild` does, in a thread of its own where there is much to fold: that takes a core, and the event loop
 * of this process answers requests. Only projections of the program's table can be named to a thread. Waits for a log
 * that lacks what its archive has: a model of what is left would be wrong until the rest is back.
 *
 * @example await rebuildingInWorker({ nats, postgres, network: 'local', pools, source })(actions, { signal })
 */
export function rebuildingInWorker({ pools, source, shortOfFacts = usuallyShort, ...where }: Workplace): Rebuild {
  const how = { name: 'rebuild', module: new URL('rebuild-thread.ts', import.meta.url) };
  return async (projection, options) => {
    await source.complete?.(projection.stream);
    const { firstSequence, lastSequence } = await source.head(projection.stream);
    if (lastSequence - firstSequence < shortOfFacts)
      return rebuild({ pools, source, projection, network: where.network, ...options });
    const input = { ...where, name: projection.name };
    const run = () => runInWorker<typeof thread, 'rebuildOne'>(how, 'rebuildOne', input, options);
    const end = await pools.builds.run(run, options.signal);
    if ('stopped' in end) throw new StopError(end.stopped, { sequence: end.sequence });
    return end;
  };
}
