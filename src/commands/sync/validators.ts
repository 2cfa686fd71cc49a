import type { Fact } from '../../events/catalogue.ts';
import { Command } from '../command.ts';
import { listed, type ListedState, type RecordListed } from './listed.ts';

/** A validator as far as it counts here. */
export type ValidatorRecord = Fact<'ValidatorListed'>['data']['record'];

/** Which validators the chain lists: moniker, status and jailed. */
export const validators = listed<'validator', ValidatorRecord>('validator', {
  listed: 'ValidatorListed',
  changed: 'ValidatorChanged',
  removed: 'ValidatorRemoved',
  seen: ({ type, data }) => ({ type, ...data }),
  fact: (type, validator, seen) => ({ type, data: { validator, ...seen } }),
});

/** What a list, read whole at one height, says of validators. */
export class RecordValidators extends Command<
  RecordListed<ValidatorRecord>,
  ListedState<ValidatorRecord> | undefined
> {}
