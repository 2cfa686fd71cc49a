import type { Fact } from '../../events/catalogue.ts';
import { type Decider, ownFacts } from '../decider.ts';
import { same } from './same.ts';

/** A validator as far as it counts here. */
export type ValidatorRecord = Fact<'ValidatorListed'>['data']['record'];

/** What the list, read whole at one height, says of a validator; no record: it is not on it. */
export type RecordValidator = Readonly<{ validator: string; height: number; record: ValidatorRecord | undefined }>;

type State = Readonly<{ seenAtHeight: number; record: ValidatorRecord; isListed: boolean }> | undefined;

/** Which validators the chain lists: moniker, status and jailed; a list read before the last known one decides nothing. */
export const validators: Decider<
  RecordValidator,
  State,
  Fact<'ValidatorListed' | 'ValidatorChanged' | 'ValidatorRemoved'>
> = {
  kind: 'validator',
  initialState: undefined,
  after: ({ type, data: { seenAtHeight, record } }) => ({
    seenAtHeight,
    record,
    isListed: type !== 'ValidatorRemoved',
  }),
  isOwn: ownFacts('ValidatorListed', 'ValidatorChanged', 'ValidatorRemoved'),
  decide({ validator, height: seenAtHeight, record }, state) {
    if (state !== undefined && seenAtHeight < state.seenAtHeight) return [];
    if (record === undefined) {
      return state?.isListed
        ? [{ type: 'ValidatorRemoved', data: { validator, seenAtHeight, record: state.record } }]
        : [];
    }
    if (!state?.isListed) return [{ type: 'ValidatorListed', data: { validator, seenAtHeight, record } }];
    return same(record, state.record) ? [] : [{ type: 'ValidatorChanged', data: { validator, seenAtHeight, record } }];
  },
};
