import { AppError } from '../../../commands/errors.ts';
import type { CurrentState } from '../../../projections/fleet/fleet.ts';
import { shown } from '../../http/parameters.ts';

const nodeStates = ['active', 'disabled', 'stopped', 'penalized', 'postponed', 'storage_full'];
const bondStates = ['bonded', 'unbonding', 'unbonded'];

/**
 * Reads `currentState`: a state of the SuperNode or of its validator, in any case, also in the chain's long form.
 *
 * @example parseCurrentState('BOND_STATUS_BONDED') // { family: 'validator', value: 'bonded' }
 */
export function parseCurrentState(text: string | undefined): CurrentState | undefined {
  if (text === undefined) return undefined;
  const word = text.toLowerCase();
  const node = nodeStates.find((state) => word === state || word === `supernode_state_${state}`);
  if (node) return { family: 'supernode', value: node };
  const bond = bondStates.find((state) => word === state || word === `bond_status_${state}`);
  if (bond) return { family: 'validator', value: bond };
  if (word === 'jailed') return { family: 'jailed' };
  const accepted = [...nodeStates, ...bondStates, 'jailed'].join(', ');
  throw new AppError(
    'INVALID_ARGUMENT',
    `currentState is ${shown(text)}; it takes one of ${accepted}, in any case or in the chain’s long form.`,
  );
}
