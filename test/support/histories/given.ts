import { fromJson, toJson } from '@bufbuild/protobuf';
import { expect } from 'vitest';
import type { Decider } from '../../../src/commands/decider.ts';
import { catalogue, type Fact, type FactOf } from '../../../src/events/catalogue.ts';
import type { Kind } from '../../../src/events/streams.ts';

/** What came of commands that were decided one after another, each on the last fact before it. */
export type Decided<State, K extends Kind> = Readonly<{
  /** Of the last command. */
  facts: readonly FactOf<K>[];
  /** Of all commands. */
  history: readonly FactOf<K>[];
  /** After all of them. */
  state: State;
  /** Checks the facts of the last command, as far as each is written down here. */
  emits: (facts: readonly object[]) => void;
}>;

/**
 * A decider on the last fact of an entity (none: nothing is known of it); ids and sequences count from 1.
 *
 * Every fact goes through the bytes of the log and back: its schema has to read exactly what was written.
 *
 * @example given(probing, lastFact).when(probe).emits([{ type: 'ProbeFailed' }])
 */
export function given<Command, State, K extends Kind>(
  { initialState, after, decide }: Decider<Command, State, K>,
  ...before: readonly FactOf<K>[]
) {
  return {
    when(...commands: readonly Command[]): Decided<State, K> {
      let sequence = 0;
      let state = initialState;
      const advance = (facts: readonly FactOf<K>[]): void => {
        sequence += facts.length;
        const last = facts.at(-1);
        if (last) state = after(last, { id: `id${sequence}`, sequence });
      };
      advance(before);
      let facts: readonly FactOf<K>[] = [];
      const history: FactOf<K>[] = [];
      for (const command of commands) {
        facts = decide(command, state).map(stored);
        history.push(...facts);
        advance(facts);
      }
      return { facts, history, state, emits: (expected) => expect(facts).toMatchObject(expected) };
    },
  };
}

function stored<F extends Fact>(fact: F): F {
  const data = JSON.parse(JSON.stringify(fact.data));
  const { schema } = catalogue[fact.type];
  expect(toJson(schema, fromJson(schema, data), { alwaysEmitImplicit: true })).toEqual(data);
  return { ...fact, data };
}
