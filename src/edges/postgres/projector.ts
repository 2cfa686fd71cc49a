import type { AnyProjection } from '../../projections/all.ts';
import { foldingOf } from './folding.ts';
import { lead, pause, type Task } from './leader.ts';
import type { Leases } from './source.ts';

/** What running projections takes. */
export type ProjectorOptions = Omit<Task, 'projection' | 'folding'> &
  Readonly<{ leases: Leases; projections: readonly AnyProjection[]; signal: AbortSignal }>;

const betweenLeasesMs = 1000;

/**
 * Runs projections until the signal ends it: each by one process at a time, from its checkpoint on.
 *
 * One that cannot go on stops alone, with its reason in its generation's row, until it is rebuilt or a process starts anew.
 * Failures of the database and of the log are waited out. Run `migrate` first.
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

async function runOne(task: Task, leases: Leases, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await leases.hold(`projection.${task.folding.name}`, signal, (lease) => lead(task, lease.signal));
    } catch (err) {
      task.log.warn({ err }, 'projection gave up its lease');
    }
    await pause(betweenLeasesMs, signal);
  }
}
