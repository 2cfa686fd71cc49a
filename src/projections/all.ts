import type { Fact, FactType } from '../events/catalogue.ts';
import { actions } from './actions.ts';
import { availability } from './availability.ts';
import type { Projection, ProjectionName } from './projection.ts';
import { syncRounds } from './rounds.ts';
import { supernodes } from './supernodes.ts';
import { validators } from './validators.ts';

/**
 * A projection whose row type is nobody's business but its own: what an engine runs.
 *
 * `on` holds handlers of the projection's own facts only: ask `isHandled` before `fold`, and give it no rows but its own.
 */
export type AnyProjection = Projection<object, FactType>;

const named = {
  actions: open(actions),
  supernodes: open(supernodes),
  validators: open(validators),
  availability: open(availability),
  rounds: open(syncRounds),
} satisfies Record<ProjectionName, AnyProjection>;

/** Every projection there is, in the order of `projectionNames`. */
export const projections: readonly AnyProjection[] = Object.values(named);

/** Whether a projection has a handler for a fact; it passes the others of its stream over. */
export function isHandled({ on }: AnyProjection, { type }: Fact): boolean {
  return Object.hasOwn(on, type);
}

/** The row that a fact makes of the one before it; null where the row is removed. */
export function fold({ on }: AnyProjection, row: object | undefined, fact: Fact): object | null {
  const handlers: Readonly<Record<string, (row: object | undefined, data: never) => object | null>> = on;
  const handle = handlers[fact.type];
  if (!handle) throw new Error(`A projection was given ${fact.type}, which it has no handler for`);
  return handle(row, fact.data as never);
}

/** Forgets the row type. Sound because rows come back only to the projection that made them. */
function open<Row extends object, T extends FactType>(projection: Projection<Row, T>): AnyProjection {
  return projection as unknown as AnyProjection;
}
