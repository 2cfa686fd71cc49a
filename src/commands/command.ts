import type { Known } from './decider.ts';
import type { Cause } from './ports.ts';

/**
 * A command as the bus carries it: what is to be decided about each of some entities of one kind, a page of them or
 * one.
 *
 * Each command is a class of its own, named in the imperative, and stands in the table `commands/all.ts` beside its
 * decider.
 */
export abstract class Command<Given, State> {
  readonly given: ReadonlyMap<string, Given>;
  readonly cause: Cause;
  /** What was read of some of the entities just before; only the others are read again. */
  readonly known: ReadonlyMap<string, Known<State>> | undefined;

  constructor(given: ReadonlyMap<string, Given>, cause: Cause, known?: ReadonlyMap<string, Known<State>>) {
    this.given = given;
    this.cause = cause;
    this.known = known;
  }
}
