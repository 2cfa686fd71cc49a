import { actions } from './actions/actions.ts';
import { availability } from './fleet/availability.ts';
import type { Projection } from './projection.ts';
import { syncRounds } from './rounds/rounds.ts';
import { supernodes } from './fleet/supernodes.ts';
import { validators } from './fleet/validators.ts';

/** A projection whose row type is nobody's business but its own: what an engine runs, giving it no rows but its own. */
export type AnyProjection = Projection<never, never>;

/** Every projection there is, in the order of `projectionNames`. */
export const projections: readonly AnyProjection[] = [actions, supernodes, validators, availability, syncRounds];
