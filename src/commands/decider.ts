import type { Fact, FactType } from '../events/catalogue.ts';
import type { Kind } from '../events/streams.ts';
import type { Recorded } from './ports.ts';

/**
 * A pure decision: a command on what is known gives new facts, or none.
 *
 * Every fact of an entity carries what the next decision needs, so the state is that of its last fact alone.
 * A command that is late or repeated changes nothing: deciding again after a lost acknowledgement is safe.
 */
export type Decider<Command, State, F extends Fact> = Readonly<{
  kind: Kind;
  initialState: State;
  /** `recorded` tells id and sequence of a fact that was read from the log; few decisions look at them. */
  after: (fact: F, recorded?: Pick<Recorded, 'id' | 'sequence'>) => State;
  decide: (command: Command, state: State) => readonly F[];
  /** Narrows a fact read from the log; another type on the entity's subject is an error of the log. */
  isOwn: (fact: Fact) => fact is F;
}>;

/** A guard for the facts of a decider. */
export function ownFacts<const T extends FactType>(
  ...types: readonly T[]
): (fact: Fact) => fact is Extract<Fact, { type: T }> {
  const own: readonly string[] = types;
  return (fact): fact is Extract<Fact, { type: T }> => own.includes(fact.type);
}
