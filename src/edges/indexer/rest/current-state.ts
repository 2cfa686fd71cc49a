import { AppError } from '../../../kit/errors.ts';
import { bondStates, superNodeStates } from '../../../events/words.ts';
import type { CurrentState } from '../../../projections/fleet/fleet.ts';
import { shown } from '../../http/parameters.ts';

/** A word in any case, as a pattern: patterns of JSON Schema have no flag for that. */
const inAnyCase = (word: string): string => word.replaceAll(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);

/** The form of `currentState`. */
export const currentStatePattern = [
  `^(?:(?:${inAnyCase('supernode_state_')})?(?:${superNodeStates.map(inAnyCase).join('|')})`,
  `(?:${inAnyCase('bond_status_')})?(?:${bondStates.map(inAnyCase).join('|')})`,
  `${inAnyCase('jailed')})$`,
].join('|');

/**
 * Reads `currentState`: a state of the SuperNode or of its validator, in any case, also in the chain's long form.
 *
 * @example parseCurrentState('BOND_STATUS_BONDED') // { family: 'validator', value: 'bonded' }
 */
export function parseCurrentState(text: string | undefined): CurrentState | undefined {
  if (text === undefined) return undefined;
  const word = text.toLowerCase();
  const node = superNodeStates.find((state) => word === state || word === `supernode_state_${state}`);
  if (node) return { family: 'supernode', value: node };
  const bond = bondStates.find((state) => word === state || word === `bond_status_${state}`);
  if (bond) return { family: 'validator', value: bond };
  if (word === 'jailed') return { family: 'jailed' };
  const accepted = [...superNodeStates, ...bondStates.toReversed(), 'jailed'].join(', ');
  throw new AppError(
    'INVALID_ARGUMENT',
    `currentState is ${shown(text)}; it takes one of ${accepted}, in any case or in the chain’s long form.`,
  );
}
