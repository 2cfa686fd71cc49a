import type { FactOf } from '../events/catalogue.ts';
import type { Kind } from '../events/streams.ts';
import type { Cause, Recorded } from './ports.ts';

/**
 * A pure decision: a command and a known state result in new facts, or none.
 *
 * Every fact of an entity carries what the next decision needs, so the state is that of its last fact alone. A command
 * that is late or repeated changes nothing: deciding again after a lost acknowledgement is safe. The facts are those of
 * the kind, all of them: one that is new does not compile before `after` handles it.
 */
export type Decider<Command, State, K extends Kind> = Readonly<{
  kind: K;
  initialState: State;
  /** `recorded` holds the id and sequence of a fact that was read from the log; few decisions need them. */
  after: (fact: FactOf<K>, recorded?: Pick<Recorded, 'id' | 'sequence'>) => State;
  decide: (command: Command, state: State) => readonly FactOf<K>[];
}>;

/** The state of an entity, and sequence and id of the fact that it follows from (0 and none: none is in the log). */
export type Known<State> = Readonly<{ state: State; sequence: number; id?: string | undefined }>;

/**
 * A command as the bus carries it: what the bus decides about each of some entities of one kind: a page of them or one.
 *
 * Each command is a class of its own, named in the imperative, and listed in the table `commands/all.ts` beside its
 * decider.
 */
export abstract class Command<Input, State> {
  readonly given: ReadonlyMap<string, Input>;
  readonly cause: Cause;
  /** The known states of some entities; only the others are read. */
  readonly known: ReadonlyMap<string, Known<State>> | undefined;

  constructor(input: ReadonlyMap<string, Input>, cause: Cause, known?: ReadonlyMap<string, Known<State>>) {
    this.given = input;
    this.cause = cause;
    this.known = known;
  }
}
