import prettyMs from 'pretty-ms';
import { AppError } from '../../kit/errors.ts';
import { projectionNames } from '../../projections/projection.ts';
import type { Reading } from '../../projections/reading.ts';
import { figures } from '../../kit/figures.ts';
import type { Check, Figures, Finding, Observed } from '../../kit/observed.ts';
import type { LagTracker } from '../log/lag.ts';
import type { Generation as StoredGeneration } from './engine/generations.ts';

/** The state of a projection's generation; `stoppedReason` is null while it runs. */
export type GenerationState = Pick<
  StoredGeneration,
  'projection' | 'generation' | 'status' | 'stream' | 'position' | 'stoppedReason' | 'pausedAt'
>;

/** The queries for the state of the read models. */
export type ObservedModels = Readonly<{
  read: <T>(use: (reading: Reading) => Promise<T>) => Promise<T>;
  generations: () => Promise<readonly GenerationState[]>;
}>;

const lagWarnedFromMs = 10_000;

/**
 * Returns whether the database answers, and how far its read models are.
 *
 * Not to be relied on while the database does not answer, a read model is not built yet, or what readers see has
 * stopped.
 */
export function observeModels({ read, generations }: ObservedModels, lag: Pick<LagTracker, 'lagMs'>): Observed {
  const built: Check = {
    component: 'database',
    look: async () => {
      const [outcome] = await Promise.allSettled([read(allBuilt)]);
      if (outcome.status === 'fulfilled') return {};
      if (!isBeingBuilt(outcome.reason)) throw outcome.reason;
      return { reasons: [{ component: 'projections', message: outcome.reason.message }] };
    },
  };
  const stateCheck: Check = {
    component: 'database',
    look: async () => {
      const match = await generations();
      const isRebuild = (one: GenerationState): boolean => isBesideLive(one, match);
      return {
        reasons: match.filter((one) => !isRebuild(one)).flatMap(stopped),
        warnings: [...match.filter(isRebuild).flatMap(stopped), ...match.flatMap((one) => behind(one, lag))],
      };
    },
  };
  return { checks: [built, stateCheck], gauges: [figuresOf(generations, lag)] };
}

/** Returns whether a read failed because a read model is not built yet; its message names the model. */
export function isBeingBuilt(caught: unknown): caught is AppError {
  return caught instanceof AppError && caught.code === 'UNAVAILABLE' && !caught.cause;
}

/** Fails as long as there is a read model that is not built yet: the routes that need it fail as well then. */
async function allBuilt(reading: Reading): Promise<void> {
  projectionNames.forEach((name) => reading.schemas[name]);
}

/** A rebuild that stops beside what readers see makes no answer wrong. */
function isBesideLive({ projection, status }: GenerationState, all: readonly GenerationState[]): boolean {
  return status !== 'live' && all.some((other) => other.projection === projection && other.status === 'live');
}

function stopped({ projection, generation, position, stoppedReason }: GenerationState): Finding[] {
  if (stoppedReason === null) return [];
  const message = `Generation ${generation} stopped after position ${position}: ${stoppedReason}`;
  return [{ component: `projection ${projection}`, message }];
}

function behind(
  { projection, status, stream, position, pausedAt }: GenerationState,
  lag: Pick<LagTracker, 'lagMs'>,
): Finding[] {
  const ms = status === 'live' ? lag.lagMs(stream, position) : 0;
  if (status === 'live' && pausedAt !== null) {
    const since = `An operator paused it at ${pausedAt}: readers see position ${position}`;
    return [
      {
        component: `projection ${projection}`,
        message: `${since}, ${prettyMs(ms, { compact: true })} behind the log.`,
      },
    ];
  }
  if (ms < lagWarnedFromMs) return [];
  return [
    { component: `projection ${projection}`, message: `It is ${prettyMs(ms, { compact: true })} behind the log.` },
  ];
}

function figuresOf(generations: ObservedModels['generations'], lag: Pick<LagTracker, 'lagMs'>): Figures {
  const labels = ['projection', 'stream'] as const;
  return figures(
    (gauge) => ({
      position: gauge('projection_position', 'Sequence of the last fact that a projection has applied', ...labels),
      lag: gauge('projection_lag_seconds', 'How far a projection is behind the log', ...labels),
      generation: gauge('projection_generation', 'Live generation of a projection', ...labels),
      stopped: gauge('projection_stopped', 'Whether a projection has stopped', ...labels),
      paused: gauge('projection_paused', 'Whether an operator paused a projection', ...labels),
      database: gauge('database_up', 'Whether the database answers'),
    }),
    generations,
    (gauges, seen) => {
      gauges.database.set(Number(seen !== undefined));
      for (const one of seen?.filter(({ status }) => status === 'live') ?? []) {
        const of = { projection: one.projection, stream: one.stream };
        gauges.position.set(of, one.position);
        gauges.lag.set(of, lag.lagMs(one.stream, one.position) / 1000);
        gauges.generation.set(of, one.generation);
        gauges.stopped.set(of, Number(one.stoppedReason !== null));
        gauges.paused.set(of, Number(one.pausedAt !== null));
      }
    },
  );
}
