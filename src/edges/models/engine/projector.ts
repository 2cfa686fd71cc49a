import type { AnyProjection } from '../../../projections/all.ts';
import { refuseOtherHandlers } from './fingerprint.ts';
import { foldingOf } from './folding.ts';
import { listGenerations } from './generations.ts';
import { lead, pause, type Task } from './leader.ts';
import { withClient } from '../pool.ts';
import type { Leasing } from '../../log/leasing.ts';

/** What running projections takes. */
export type ProjectorOptions = Omit<Task, 'projection' | 'folding'> &
  Readonly<{ leases: Leasing; projections: readonly AnyProjection[]; signal: AbortSignal }>;

const betweenLeasesMs = 1000;

/**
 * Fails with a `StopError` that says what to do when handlers were changed without a new version since their generation
 * was made: then nothing may be written, and the program does not start.
 */
export async function checkHandlers({
  pools,
  network,
  projections,
}: Pick<ProjectorOptions, 'pools' | 'network' | 'projections'>): Promise<void> {
  const generations = await withClient(pools.write, (client) => listGenerations(client, network));
  for (const folding of projections.map(foldingOf)) {
    const live = generations.find((one) => one.projection === folding.name && one.status === 'live');
    if (live) refuseOtherHandlers(folding, live);
  }
}

/**
 * Runs projections until the signal ends it: each by one process at a time, from its checkpoint on.
 *
 * One that cannot go on stops alone, with its reason in its generation's row, until it is rebuilt or a process starts
 * anew. Failures of the database and of the log are waited out. Run `migrate` first.
 *
 * @example await runProjector({ pools, source: log, leases, projections, network, log: logger, signal })
 */
export async function runProjector({ projections, leases, signal, ...rest }: ProjectorOptions): Promise<void> {
  await Promise.all(
    projections.map((projection) => {
      const log = rest.log.child({ projection: projection.name });
      return runOne({ ...rest, log, projection, folding: foldingOf(projection) }, leases, signal);
    }),
  );
}

async function runOne(task: Task, leases: Leasing, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await leases.hold(`projection.${task.folding.name}`, signal, (lease) => lead(task, lease.signal));
    } catch (err) {
      task.log.warn({ err }, 'projection gave up its lease');
    }
    await pause(betweenLeasesMs, signal);
  }
}
