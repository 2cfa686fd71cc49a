import { AppError } from '../../../kit/errors.ts';
import type { Recorded } from '../../../commands/ports.ts';
import { type Applier, createApplier } from './apply.ts';
import { StopError } from '../database-error.ts';
import type { Folding } from './folding.ts';
import { analyzeTables } from './generation-tables.ts';
import { clearStop, type Generation, liveGeneration } from './generations.ts';
import { type Pools, withClient } from '../pool.ts';
import { traceBatch, traceWrite } from './spans.ts';
import { type SourceHead, readAhead, sequenceOf, type FactSource } from './source.ts';

/** What following needs. */
export type Following = Readonly<{
  pools: Pools;
  source: FactSource;
  folding: Folding;
  network: string;
  /** Is called for every batch that the database refused. */
  onRefused?: (projection: string) => void;
}>;

const maxFacts = 20_000;
const checkEachMs = 5000;
const firstStatisticsAfter = 500;

/**
 * Applies the facts beyond a live generation, and each new one, until the signal ends it.
 *
 * Also ends when a checkpoint was refused, or when a check finds the generation gone while no fact comes: another
 * process leads, another generation is live, or the database was made anew. Fails with a `StopError` when the
 * generation cannot continue with this log, and at a fact that cannot be applied; the facts before it are applied then.
 */
export async function followLive(following: Following, live: Generation, signal: AbortSignal): Promise<void> {
  const { pools, source, folding, network } = following;
  const head = await source.head(live.stream);
  checkLog(live, head, live.position);
  if (live.stoppedAt !== null && head.lastSequence === live.position) await clearStop(pools.write, network, live);
  const applier = createApplier(folding, live, network);
  const grow = statisticsOf(following, live);
  const ground = watchGround(following, live, applier.position);
  try {
    const either = AbortSignal.any([signal, ground.signal]);
    const from = { stream: live.stream, after: live.position };
    for await (const { facts } of readAhead(source, from, { maxFacts, signal: either })) {
      if (!(await traceBatch(live, facts, () => applyAll(following, applier, facts))))
        return following.onRefused?.(folding.name);
      grow(facts.length);
      if (either.aborted) break;
    }
    if (ground.signal.reason === gone) return;
    ground.signal.throwIfAborted();
    if (!signal.aborted) throw new AppError('UNAVAILABLE', `Following ${live.stream} ended at ${applier.position()}`);
  } catch (caught) {
    if (sequenceOf(caught) !== undefined) checkLog(live, await source.head(live.stream), applier.position());
    throw caught;
  } finally {
    ground.stop();
  }
}

const gone = Symbol('the generation is not live any more');

/**
 * Checks now and then that the generation is still live and its log unchanged, for it may be long until the next fact.
 * Returns a signal that aborts when they are not.
 */
function watchGround(
  { pools, source, network }: Following,
  live: Generation,
  position: () => number,
): { signal: AbortSignal; stop: () => void } {
  const unfit = new AbortController();
  const { stream, projection } = live;
  const inspection = async (): Promise<void> => {
    const at = position();
    const [head, now] = await Promise.allSettled([
      source.head(stream),
      withClient(pools.write, (client) => liveGeneration(client, { network, projection })),
    ]);
    if (head.status === 'fulfilled') abortOn(unfit, () => checkLog(live, head.value, at));
    if (now.status === 'rejected') return;
    if (!isSame(live, now.value)) unfit.abort(gone);
    else if (now.value.position < at) unfit.abort(wentBack(now.value, at));
  };
  const timer = setInterval(() => void inspection(), checkEachMs);
  return { signal: unfit.signal, stop: () => clearInterval(timer) };
}

const wentBack = ({ projection, stream, position }: Generation, from: number): AppError =>
  new AppError(
    'UNAVAILABLE',
    `The database is in an older state: ${projection} went back from ${from} to ${position} of ${stream}, and catches up`,
  );

const isSame = (live: Generation, now: Generation | undefined): now is Generation =>
  now?.generation === live.generation && now.epoch === live.epoch && now.incarnation === live.incarnation;

/**
 * Refreshes the planner's statistics each time that many more facts were written than the time before.
 *
 * PostgreSQL does so on its own, but only after a minute; until then plans made for empty tables would read full ones.
 * The projector does not wait for it: on a big table it takes seconds, and it waits while another session changes the
 * table.
 */
function statisticsOf({ pools, folding }: Following, { schema, position }: Generation): (facts: number) => void {
  let written = 0;
  // The facts up to `position` are in the statistics already.
  let due = Math.max(firstStatisticsAfter, position);
  let isInFlight = false;
  const analyze = async (): Promise<void> => {
    isInFlight = true;
    // Whatever is wrong with the database, the next batch finds it as well.
    await withClient(pools.bulk, (client) => analyzeTables(client, folding, schema)).catch(() => undefined);
    isInFlight = false;
  };
  return (facts) => {
    written += facts;
    if (written < due || isInFlight) return;
    while (due <= written) due *= 4;
    void analyze();
  };
}

/** Applies all facts, or those before the one that cannot be applied, which the error then names. */
async function applyAll(following: Following, applier: Applier, facts: readonly Recorded[]): Promise<boolean> {
  try {
    return await traceWrite(following.folding.name, facts, () =>
      withClient(following.pools.write, (client) => applier.apply(client, facts)),
    );
  } catch (caught) {
    if (!(caught instanceof StopError)) throw caught;
    const [first, second] = facts;
    if (!first || !second) throw named(caught, following.folding, first);
    const middle = Math.ceil(facts.length / 2);
    return (
      (await applyAll(following, applier, facts.slice(0, middle))) && applyAll(following, applier, facts.slice(middle))
    );
  }
}

function named(stop: StopError, { name, stream }: Folding, culprit: Recorded | undefined): StopError {
  if (stop.sequence !== undefined || !culprit) return stop;
  const { sequence } = culprit;
  return new StopError(`Projection ${name} cannot write fact ${sequence} of ${stream}: ${stop.message}`, {
    cause: stop,
    sequence,
  });
}

/** Fails when a generation follows another log than this one, or one that was longer. */
function checkLog({ projection, stream, incarnation }: Generation, head: SourceHead, position: number): void {
  if (head.incarnation !== incarnation) {
    throw new StopError(
      `${stream} was created anew at ${head.incarnation}; ${projection} follows the one of ${incarnation}: rebuild it from this log with: annals replay ${projection}`,
    );
  }
  if (head.lastSequence < position) {
    throw new StopError(
      `${stream} ends at ${head.lastSequence}; ${projection} had followed it to ${position}: what the auditor does not bring back, annals repair does`,
    );
  }
}

function abortOn(controller: AbortController, check: () => void): void {
  try {
    check();
  } catch (caught) {
    controller.abort(caught);
  }
}
