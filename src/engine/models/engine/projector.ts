import type { AnyProjection } from '../../../projections/all.ts';
import type { Logger } from '../../../kit/logger.ts';
import { repeat } from '../../../kit/repeat.ts';
import { wait } from '../../../kit/wait.ts';
import type { Leasing } from '../../log/leases.ts';
import type { Rebuild } from '../build/rebuild-in-worker.ts';
import { rebuild } from '../build/rebuild.ts';
import { StopError } from '../database-error.ts';
import { type Pools, withClient } from '../pool.ts';
import { refuseOtherHandlers } from './fingerprint.ts';
import { foldingOf } from './folding.ts';
import { dropRetired } from './generation-tables.ts';
import { type Generation, listGenerations, liveGeneration, raiseEpoch, recordStop } from './generations.ts';
import { type Following, followLive } from './live.ts';
import { sequenceOf } from './source.ts';

/** What running projections takes. */
type ProjectorOptions = Omit<Task, 'projection' | 'folding'> &
  Readonly<{ leases: Leasing; projections: readonly AnyProjection[]; signal: AbortSignal }>;

const betweenLeasesMs = 1000;

/**
 * Fails with a `StopError` that names the remedy when handlers were changed without a new version since their
 * generation was made: then nothing may be written, and the program does not start.
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
 * A projection that cannot continue stops alone, with its reason in its generation's row, until it is rebuilt or a
 * process starts anew. The projector retries after failures of the database and of the log. Run `migrate` first.
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
  const hold = (): Promise<void> =>
    leases.hold(`projection.${task.folding.name}`, signal, (lease) => lead(task, lease.signal));
  await repeat('projection gave up its lease', hold, { everyMs: betweenLeasesMs, log: task.log, signal });
}

/** One projection to run; `rebuilding` builds its generations, by default in this thread. */
type Task = Following & Readonly<{ projection: AnyProjection; rebuilding?: Rebuild; log: Logger }>;

/**
 * The state of a leader: the epoch that it raised, once there was a generation to raise it on, and failures in a row.
 */
type Status = { epoch: number | undefined; failures: number };

const longestWaitMs = 5000;
const blockedAtMostMs = 1500;
const checkAgainMs = 500;
const sweepEachMs = 60_000;

/**
 * Leads a projection until the signal ends it, or a later leader exists: then the database refuses this one, and it
 * ends.
 *
 * Never fails; it retries after a passing failure, and any other one stops the projection and is recorded.
 */
async function lead(task: Task, signal: AbortSignal): Promise<void> {
  const sweeping = setInterval(() => void sweep(task), sweepEachMs);
  const current: Status = { epoch: undefined, failures: 0 };
  try {
    while (!signal.aborted && (await triedTurn(task, current, signal)));
  } finally {
    clearInterval(sweeping);
  }
}

/** One turn of a leader, with what went wrong in it waited out; false when there is no further one. */
async function triedTurn(task: Task, standing: Status, signal: AbortSignal): Promise<boolean> {
  try {
    const goesOn = await turn(task, standing, signal);
    standing.failures = 0;
    return goesOn;
  } catch (caught) {
    if (!signal.aborted) await recover(task, caught, standing, signal);
    return true;
  }
}

/** Builds a generation where none fits, else follows the live one; false when it is another's to lead. */
async function turn(task: Task, standing: Status, signal: AbortSignal): Promise<boolean> {
  const { folding, log } = task;
  const live = await check(task);
  if (live && live.version > folding.version) {
    log.warn({ live: live.version, ours: folding.version }, 'a newer version runs the projection');
    return false;
  }
  if (live?.version === folding.version && live.pausedAt !== null) {
    standing.epoch = undefined;
    await staysPaused(task, live, signal);
    return true;
  }
  if (live && standing.epoch !== undefined && live.epoch !== standing.epoch) {
    log.info('another process leads the projection');
    return false;
  }
  standing.epoch ??= live && (await raise(task));
  if (live) refuseOtherHandlers(folding, live);
  if (live?.version === folding.version)
    await followLive(task, { ...live, epoch: standing.epoch ?? live.epoch }, signal);
  else await buildNext(task, signal);
  return true;
}

/** Keeps the lease until the projection is resumed, or another generation is live; the next turn leads anew then. */
async function staysPaused(task: Task, paused: Generation, signal: AbortSignal): Promise<void> {
  task.log.info({ position: paused.position, since: paused.pausedAt }, 'an operator paused the projection');
  const look = async (): Promise<'done' | void> => {
    const live = await check(task);
    if (live?.generation !== paused.generation || live.pausedAt === null) return 'done';
  };
  await repeat('a pause was not read', look, { everyMs: checkAgainMs, signal });
}

function check({ pools, network, folding }: Task): Promise<Generation | undefined> {
  return withClient(pools.write, (client) => liveGeneration(client, { network, projection: folding.name }));
}

/**
 * Raises the epoch: the database refuses earlier leaders from now on.
 *
 * Where a frozen leader keeps the row locked, in the middle of a message, no time limit of the database applies: then
 * its connection is ended.
 */
function raise({ pools, network, folding }: Task): Promise<number | undefined> {
  return withClient(pools.write, async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const ending = setInterval(() => void endBlockers(pools, rows[0]?.pid), blockedAtMostMs);
    try {
      return await raiseEpoch(client, network, folding.name);
    } finally {
      clearInterval(ending);
    }
  });
}

/**
 * Ends writers of live batches only: a switch releases its lock after a moment, and ending it could cost an hour's
 * rebuild.
 */
async function endBlockers({ bulk, write }: Pools, pid: number | undefined): Promise<void> {
  const text = `select pg_terminate_backend(pid) from pg_stat_activity
    where pid = any (pg_blocking_pids($1)) and application_name = $2`;
  // A database that is away ends the connection that waits as well.
  await withClient(bulk, (client) => client.query(text, [pid, write.options.application_name])).catch(() => undefined);
}

async function buildNext(task: Task, signal: AbortSignal): Promise<void> {
  task.log.info({ version: task.folding.version }, 'building a generation of the projection');
  const { rebuilding = (projection) => rebuild({ ...task, projection, signal }) } = task;
  const { generation, position, facts } = await rebuilding(task.projection, { signal });
  task.log.info({ generation, position, facts }, 'a new generation of the projection is live');
}

async function recover(task: Task, caught: unknown, standing: Status, signal: AbortSignal): Promise<void> {
  const sequence = sequenceOf(caught);
  if (caught instanceof StopError || sequence !== undefined) {
    task.log.error({ err: caught, sequence }, 'projection stopped');
    const reason = caught instanceof Error ? caught.message : String(caught);
    return standStopped(task, { reason, epoch: standing.epoch }, signal);
  }
  task.log.warn({ err: caught }, 'projection waits');
  standing.failures += 1;
  await wait(Math.min(longestWaitMs, 50 * 2 ** standing.failures) * (0.5 + Math.random() / 2), signal);
}

type Stop = Readonly<{ reason: string; epoch: number | undefined }>;

/**
 * Records the stop, then keeps the lease and waits for a switch to another generation, or for another leader.
 *
 * Where the database was made anew meanwhile there is no row to record it in: then it starts again.
 */
async function standStopped(task: Task, { reason, epoch }: Stop, signal: AbortSignal): Promise<void> {
  const { pools, network, folding } = task;
  let stopped: { generation: number | undefined } | undefined;
  const stand = async (): Promise<'done' | void> => {
    const live = await check(task);
    const stop = { network, projection: folding.name, epoch: epoch ?? 0, reason };
    const isRecorded = stopped !== undefined || (await recordStop(pools.write, stop));
    if (!live && !isRecorded) {
      await wait(checkAgainMs, signal);
      return 'done';
    }
    stopped ??= { generation: live?.generation };
    if (live?.generation !== stopped.generation || live?.epoch !== epoch) return 'done';
  };
  // It fails while the database is away: the stop is recorded when it is back.
  await repeat('a stop was not recorded', stand, { everyMs: checkAgainMs, signal });
}

/** Drops generations without readers; those that cannot be dropped now are dropped another time. */
async function sweep({ pools, network, folding, log }: Task): Promise<void> {
  try {
    await withClient(pools.bulk, (client) =>
      dropRetired(client, network, { projection: folding.name, keepPrevious: true }),
    );
  } catch (err) {
    log.debug({ err }, 'retired generations stay for now');
  }
}
