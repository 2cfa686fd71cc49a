import { describe, expect, it } from 'vitest';
import { type SuperNodeRecord, supernodes } from '../../../src/commands/sync/supernodes.ts';
import { validators } from '../../../src/commands/sync/validators.ts';

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
const listed = { seenAtHeight: 10, record, isListed: true };

describe('supernodes', () => {
  it('are listed, changed and removed, and listed again', () => {
    expect(supernodes.decide({ node: 'n', height: 10, record }, undefined)).toMatchObject([
      { type: 'SuperNodeListed' },
    ]);
    const stopped = { ...record, state: 'stopped' };
    expect(supernodes.decide({ node: 'n', height: 11, record: stopped }, listed)).toMatchObject([
      { type: 'SuperNodeChanged' },
    ]);
    const removed = supernodes.decide({ node: 'n', height: 12, record: undefined }, listed);
    expect(removed).toEqual([{ type: 'SuperNodeRemoved', data: { node: 'n', seenAtHeight: 12, record } }]);
    const [fact] = removed;
    expect(fact && supernodes.decide({ node: 'n', height: 13, record }, supernodes.after(fact))).toMatchObject([
      { type: 'SuperNodeListed' },
    ]);
  });

  it('decide nothing on a record that says the same, in any order of its fields, or is older', () => {
    const { state, ...others } = record;
    expect(supernodes.decide({ node: 'n', height: 11, record: { ...others, state } }, listed)).toEqual([]);
    expect(supernodes.decide({ node: 'n', height: 9, record: { ...record, state: 'stopped' } }, listed)).toEqual([]);
    expect(supernodes.decide({ node: 'n', height: 9, record: undefined }, listed)).toEqual([]);
    expect(supernodes.decide({ node: 'n', height: 11, record: undefined }, undefined)).toEqual([]);
  });
});

describe('validators', () => {
  it('change with moniker, status or jailed', () => {
    const known = { seenAtHeight: 10, record: { moniker: 'm', status: 'bonded', jailed: false }, isListed: true };
    const decide = (changes: object): unknown[] => [
      ...validators.decide({ validator: 'v', height: 11, record: { ...known.record, ...changes } }, known),
    ];
    expect(decide({})).toEqual([]);
    expect(decide({ moniker: 'other' })).toMatchObject([{ type: 'ValidatorChanged' }]);
    expect(decide({ status: 'unbonding' })).toMatchObject([{ type: 'ValidatorChanged' }]);
    expect(decide({ jailed: true })).toMatchObject([{ type: 'ValidatorChanged' }]);
  });
});
