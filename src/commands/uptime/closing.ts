import { Command, type Decider } from '../decider.ts';
import { closedDays, type ClosedState, type CloseDays } from './day-sums.ts';

/**
 * Closes the days of a node that are over, one fact each, in their order; a day of which no probe speaks has none.
 *
 * A day that is closed stays as it is, whatever is known later: closing again decides nothing.
 */
export const closing: Decider<CloseDays, ClosedState, 'day'> = {
  kind: 'day',
  initialState: { day: '', known: { lastSequence: 0 } },
  after: ({ data: { day, known } }) => ({ day, known }),
  decide: (command, state) => closedDays(command, state).map((data) => ({ type: 'NodeDayClosed', data }) as const),
};

/** Closes days of some nodes. */
export class CloseNodeDays extends Command<CloseDays, ClosedState> {}
