import { Command } from '../command.ts';
import type { Decider } from '../decider.ts';
import { Life } from './action-life.ts';
import type { KnownAction } from './action-states.ts';
import type { RecordAction } from './record-action.ts';

type State = KnownAction | undefined;

/**
 * The life of an action: each step once, in order, with the transactions that tell of it (DESIGN section 4).
 *
 * An action that the log does not know gets every fact of its life so far. A record behind what is known and a
 * transaction that is known decide nothing; another transaction of a step that was recorded is a fact of its own. What
 * was known stays: the data hash and the step reached outlive an emptied record and an expiry.
 */
export const actions: Decider<RecordAction, State, 'action'> = {
  kind: 'action',
  initialState: undefined,
  after: (fact) => fact.data.known,
  decide(command, state) {
    const { record } = command;
    if (state === undefined && record === undefined) return [];
    const life = new Life(command, state);
    if (state === undefined && record !== undefined) life.register(record);
    if (life.hasTaken('finalize')) life.finalize(state !== undefined);
    if (life.hasTaken('approve')) life.approve();
    life.observe();
    life.addTransactions();
    return life.facts;
  },
};

/** What one round of sync read about some actions. */
export class RecordActions extends Command<RecordAction, State> {}
