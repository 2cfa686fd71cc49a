import type { Fact, FactType } from '../events/catalogue.ts';
import { actions } from './actions.ts';
import { availability } from './availability.ts';
import type { Projection } from './projection.ts';
import { syncRounds } from './rounds.ts';
import { supernodes } from './supernodes.ts';
import { validators } from './validators.ts';

/** Something that can be done with a projection of any row and facts. */
export type ForProjection<Result> = <Row extends object, T extends FactType>(projection: Projection<Row, T>) => Result;

/**
 * Does something with every projection, in the order of `projectionNames`, each with its own row type.
 *
 * @example eachProjection((projection) => new Runner(projection))
 */
export function eachProjection<Result>(use: ForProjection<Result>): Result[] {
  return [use(actions), use(supernodes), use(validators), use(availability), use(syncRounds)];
}

/** A fact that a projection has a handler for; it passes the others of its stream over. */
export function isHandled<Row extends object, T extends FactType>(
  projection: Projection<Row, T>,
  fact: Fact,
): fact is Fact & Fact<T> {
  return Object.hasOwn(projection.on, fact.type);
}

/** What a fact makes of its row: the handler's answer. */
export function fold<Row extends object, T extends FactType>(
  projection: Projection<Row, T>,
  row: Row | undefined,
  fact: Fact<T>,
): Row | null {
  const handlers: Readonly<Record<string, (row: Row | undefined, data: Fact<T>['data']) => Row | null>> = projection.on;
  const handler = handlers[fact.type];
  if (!handler) throw new Error(`Projection ${projection.name} has no handler for ${fact.type}`);
  return handler(row, fact.data);
}
