import { describe, expect, it } from 'vitest';
import { actions } from '../../../src/commands/sync/actions.ts';
import type { ActionRecord, StepMatch, RecordAction, Step } from '../../../src/commands/sync/action-states.ts';
import { given } from '../../support/histories/given.ts';

const record = (changes: Partial<ActionRecord> = {}): ActionRecord => ({
  kind: 'cascade',
  creator: 'lumera1creator',
  height: 10,
  price: { denom: 'ulume', amount: '10060' },
  fileSizeKbs: 6,
  metadata: 'AA==',
  dataHash: 'hash',
  chainState: 'pending',
  expiresAt: '2026-11-22T00:00:00Z',
  accounts: [],
  ...changes,
});
const found = (step: Step, height: number, hash = `${step}${height}`): StepMatch => ({
  step,
  transaction: { hash, height, time: '2026-11-21T00:00:00Z' },
  payments: step === 'finalize' ? [{ account: 'lumera1node', denom: 'ulume', amount: '9859' }] : [],
  accounts: step === 'finalize' ? ['lumera1node'] : [],
});
const command = (changes: Partial<RecordAction> = {}): RecordAction => ({
  action: '7',
  height: 100,
  record: record(),
  found: [],
  ...changes,
});

const after = (...commands: readonly RecordAction[]) => given(actions).when(...commands);

const done = record({ chainState: 'done', accounts: ['lumera1node'], metadata: 'BB==' });

describe('actions', () => {
  it('write every fact of a life that the log does not know, the registration first', () => {
    const steps = [found('approve', 30), found('finalize', 20), found('register', 10)];
    const { facts } = after(command({ record: { ...done, chainState: 'approved' }, found: steps }));
    expect(facts.map(({ type }) => type)).toEqual(['ActionRegistered', 'ActionFinalized', 'ActionApproved']);
    expect(facts.map(({ data }) => data.known.chainState)).toEqual(['pending', 'done', 'approved']);
    expect(facts.at(-1)?.data.known).toMatchObject({
      reached: 'approved',
      transactions: [
        { step: 'register', hash: 'register10' },
        { step: 'finalize', hash: 'finalize20' },
        { step: 'approve', hash: 'approve30' },
      ],
    });
    expect(facts[1]?.data).not.toHaveProperty('metadata');
  });

  it('decide nothing on a command that comes again', () => {
    const whole = command({ record: done, found: [found('register', 10), found('finalize', 20)] });
    after(whole, whole).emits([]);
  });

  it('decide nothing on a record behind what is known', () => {
    const whole = command({ record: done, found: [found('register', 10), found('finalize', 20)] });
    after(whole, command()).emits([]);
  });

  it('record a late finalize with its payments and the metadata that it changed', () => {
    const { facts } = after(
      command({ found: [found('register', 10)] }),
      command({ record: done, found: [found('finalize', 90)] }),
    );
    expect(facts).toMatchObject([
      {
        type: 'ActionFinalized',
        data: {
          accounts: ['lumera1node'],
          payments: [{ amount: '9859' }],
          metadata: 'BB==',
          transaction: { height: 90 },
        },
      },
    ]);
  });

  it('record a finalize without transaction, and the transaction once it is found', () => {
    const known = [command({ found: [found('register', 10)] }), command({ record: done })];
    after(...known).emits([{ type: 'ActionFinalized', data: { payments: [], accounts: ['lumera1node'] } }]);
    expect(after(...known).facts[0]?.data).not.toHaveProperty('transaction');
    after(...known, command({ record: done, found: [found('finalize', 20)] })).emits([
      {
        type: 'ActionTransactionFound',
        data: { step: 'finalize', transaction: { hash: 'finalize20' }, payments: [{ amount: '9859' }] },
      },
    ]);
  });

  it('record a second finalize transaction as one more found', () => {
    const whole = command({ record: done, found: [found('register', 10), found('finalize', 20)] });
    after(whole, command({ record: done, found: [found('finalize', 21)] })).emits([
      { type: 'ActionTransactionFound', data: { transaction: { hash: 'finalize21' } } },
    ]);
    const both = command({
      record: done,
      found: [found('register', 10), found('finalize', 21), found('finalize', 20)],
    });
    after(both).emits([
      { type: 'ActionRegistered' },
      { type: 'ActionFinalized', data: { transaction: { hash: 'finalize20' } } },
      { type: 'ActionTransactionFound', data: { transaction: { hash: 'finalize21' } } },
    ]);
  });

  it('record both steps where only the approval was seen', () => {
    const { facts } = after(
      command(),
      command({ record: { ...done, chainState: 'approved' }, found: [found('approve', 30)] }),
    );
    expect(facts).toMatchObject([
      { type: 'ActionFinalized' },
      { type: 'ActionApproved', data: { transaction: { height: 30 } } },
    ]);
  });

  it('keep the step reached when an action expires', () => {
    const { facts } = after(command(), command({ record: record({ chainState: 'expired' }), height: 120 }));
    expect(facts).toMatchObject([
      { type: 'ActionExpired', data: { seenAtHeight: 120, known: { chainState: 'expired', reached: 'registered' } } },
    ]);
  });

  it.each(['processing', 'rejected', 'failed'] as const)(
    'observe the chain state %s, which has no fact of its own',
    (chainState) => {
      after(command(), command({ record: record({ chainState }) })).emits([
        { type: 'ActionStateObserved', data: { known: { chainState, reached: 'registered' } } },
      ]);
    },
  );

  it('finalize after processing was observed', () => {
    const processing = command({ record: record({ chainState: 'processing' }) });
    after(processing, command({ record: done, found: [found('finalize', 20)] })).emits([{ type: 'ActionFinalized' }]);
  });

  it('never empty a data hash that is known', () => {
    const emptied = command({ record: { ...done, metadata: '', dataHash: '' }, found: [found('finalize', 20)] });
    const { facts } = after(command(), emptied);
    expect(facts).toMatchObject([{ type: 'ActionFinalized', data: { known: { dataHash: 'hash' } } }]);
    expect(facts[0]?.data).not.toHaveProperty('metadata');
  });

  it('record a step of a known action whose record cannot be read', () => {
    const { facts } = after(command(), command({ record: undefined, found: [found('finalize', 20)] }));
    expect(facts).toMatchObject([
      { type: 'ActionFinalized', data: { accounts: ['lumera1node'], known: { chainState: 'done' } } },
    ]);
    after(command({ record: undefined, found: [found('finalize', 20)] })).emits([]);
  });
});
