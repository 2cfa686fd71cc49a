import { describe, expect, it } from 'vitest';
import {
  type SuperNodeRecord,
  supernodes,
  type ValidatorRecord,
  validators,
} from '../../../src/commands/sync/listed.ts';
import { given } from '../../support/histories/given.ts';

const record: SuperNodeRecord = {
  state: 'active',
  stateHeight: 5,
  stateReason: '',
  address: '127.0.1.1:4444',
  account: 'lumera1a',
  accounts: [{ account: 'lumera1a', height: 5 }],
  note: '1.0.0',
  p2pPort: '4445',
  registeredHeight: 5,
};
const listed = { type: 'SuperNodeListed', data: { node: 'n', seenAtHeight: 10, record } } as const;
const said = (height: number, changes: Partial<SuperNodeRecord> | undefined = {}) => ({
  operator: 'n',
  height,
  record: { ...record, ...changes },
});
const gone = (height: number) => ({ operator: 'n', height, record: undefined });

describe('supernodes', () => {
  it('are listed, changed and removed, and listed again', () => {
    given(supernodes).when(said(10)).emits([listed]);
    given(supernodes, listed)
      .when(said(11, { state: 'stopped' }))
      .emits([{ type: 'SuperNodeChanged', data: { record: { state: 'stopped' } } }]);
    expect(given(supernodes, listed).when(gone(12)).facts).toEqual([
      { type: 'SuperNodeRemoved', data: { node: 'n', seenAtHeight: 12, record } },
    ]);
    given(supernodes, listed)
      .when(gone(12), said(13))
      .emits([{ type: 'SuperNodeListed' }]);
  });

  it('decide nothing on a record that says the same, in any order of its fields, or is older', () => {
    const { state, ...others } = record;
    given(supernodes, listed)
      .when({ operator: 'n', height: 11, record: { ...others, state } })
      .emits([]);
    given(supernodes, listed)
      .when(said(9, { state: 'stopped' }))
      .emits([]);
    given(supernodes, listed).when(gone(9)).emits([]);
    given(supernodes).when(gone(11)).emits([]);
  });
});

describe('validators', () => {
  it('change with moniker, status or jailed', () => {
    const validator = { moniker: 'm', status: 'bonded', jailed: false };
    const when = (changes: Partial<ValidatorRecord>) =>
      given(validators, {
        type: 'ValidatorListed',
        data: { validator: 'v', seenAtHeight: 10, record: validator },
      }).when({
        operator: 'v',
        height: 11,
        record: { ...validator, ...changes },
      });
    when({}).emits([]);
    when({ moniker: 'other' }).emits([{ type: 'ValidatorChanged', data: { validator: 'v' } }]);
    when({ status: 'unbonding' }).emits([{ type: 'ValidatorChanged' }]);
    when({ jailed: true }).emits([{ type: 'ValidatorChanged' }]);
  });
});
