import { type Fact, type FactType, factTypes } from './catalogue.ts';

/** The CloudEvents type of a fact, such as `annals.ProbeFailed.v1`. */
export function eventType(type: FactType): string {
  return `annals.${type}.v1`;
}

const factTypeOf = new Map(factTypes.map((type) => [eventType(type), type]));

/**
 * Any version of an event ever shipped as the newest fact.
 *
 * A type that this code does not know is an error, never a guess: it stops the reader.
 */
export function upcast(type: string, data: unknown): Fact {
  const name = factTypeOf.get(type);
  if (name === undefined)
    throw new Error(`Unknown event type ${JSON.stringify(type)}: it was written by a newer version`);
  if (typeof data !== 'object' || data === null) throw new Error(`Event of type ${type} has no data`);
  return asFact(name, data);
}

/** The schemas only grow, so what was written under a type still has its shape. */
function asFact(type: FactType, data: object): Fact {
  return { type, data } as Fact;
}
