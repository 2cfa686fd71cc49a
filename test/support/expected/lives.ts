import type { Recorded } from '../../../src/commands/ports.ts';
import { entityOf, type Fact, type FactType } from '../../../src/events/catalogue.ts';

/** A row as JSON. */
export type Cells = Readonly<Record<string, unknown>>;

/** The facts of every entity, in order. */
export type Lives = ReadonlyMap<string, readonly Recorded[]>;

/** Tells the facts of one entity from those of another. */
export function livesOf(facts: readonly Recorded[]): Lives {
  return Map.groupBy(facts, ({ fact }) => entityOf(fact));
}

/** What the facts of one type say. */
export function dataOf<T extends FactType>(life: readonly Recorded[], type: T): Fact<T>['data'][] {
  return life.flatMap(({ fact }) => (fact.type === type ? [fact.data as Fact<T>['data']] : []));
}

/** Where the last fact of a life lies. */
export function positionOf(life: readonly Recorded[]): number {
  return life.at(-1)?.sequence ?? 0;
}

/** The last fact of a life. */
export function lastOf(life: readonly Recorded[]): Fact {
  const last = life.at(-1);
  if (!last) throw new Error('There is no life without a fact');
  return last.fact;
}
