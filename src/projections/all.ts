import { actionQueries } from './actions/queries.ts';
import { actions } from './actions/actions.ts';
import { fleetQueries } from './fleet/queries.ts';
import { availability } from './fleet/availability.ts';
import type { Projection } from './projection.ts';
import type { QueryEntry } from './query.ts';
import { roundQueries } from './rounds/queries.ts';
import { syncRounds } from './rounds/rounds.ts';
import { supernodes } from './fleet/supernodes.ts';
import { validators } from './fleet/validators.ts';

/** A projection whose row type is nobody's business but its own: what an engine runs, giving it no rows but its own. */
export type AnyProjection = Projection<never, never>;

/** Every projection there is, in the order of `projectionNames`. */
export const projections: readonly AnyProjection[] = [actions, supernodes, validators, availability, syncRounds];

/** Every query there is, with what answers it. */
export const queries: readonly QueryEntry[] = [...actionQueries, ...fleetQueries, ...roundQueries];
