import type pg from 'pg';
import { AppError } from '../../../kit/errors.ts';
import type { ProjectionName } from '../../../projections/projection.ts';
import { metaSchema } from './generations.ts';

/** A projection whose live generation an operator pauses or resumes. */
type Pausable = Readonly<{ network: string; projection: ProjectionName }>;

/** Where the live generation of a projection is, and since when it is paused; null where it is not. */
export type PauseState = Readonly<{ generation: number; position: number; pausedAt: string | null }>;

const returned = `returning generation, position,
  to_char(paused_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "pausedAt"`;

/**
 * Pauses a projection until it is resumed, also over restarts and rebuilds: its position is the one that readers see
 * from now on.
 *
 * Nothing is applied after this returns: the database refuses the leader, which is of an earlier epoch now. Repeating
 * changes nothing. Fails with `NOT_FOUND` while no generation is live.
 */
export async function pauseProjection(pool: pg.Pool, { network, projection }: Pausable): Promise<PauseState> {
  const { rows } = await pool.query<PauseState>(
    `update ${metaSchema(network)}.generations
      set epoch = epoch + (paused_at is null)::int, paused_at = coalesce(paused_at, now())
      where projection = $1 and status = 'live' ${returned}`,
    [projection],
  );
  return liveOne(rows[0], projection);
}

/** Resumes a projection where it was paused; the leader notices within a moment. Safe to repeat, and fails alike. */
export async function resumeProjection(pool: pg.Pool, { network, projection }: Pausable): Promise<PauseState> {
  const { rows } = await pool.query<PauseState>(
    `update ${metaSchema(network)}.generations set paused_at = null
      where projection = $1 and status = 'live' ${returned}`,
    [projection],
  );
  return liveOne(rows[0], projection);
}

function liveOne(state: PauseState | undefined, projection: string): PauseState {
  if (state) return state;
  throw new AppError('NOT_FOUND', `No generation of ${projection} is live yet; wait until it is built`);
}
