import { describe, expect, it } from 'vitest';
import type { FactOf } from '../../../src/events/catalogue.ts';
import { actions } from '../../../src/projections/actions/actions.ts';
import type { ActionRow } from '../../../src/projections/tables.ts';
import { actionFacts, timeOf, transactionAt } from '../../support/histories/facts.ts';
import { rowsOf } from '../../support/histories/load-projection.ts';

type Step = FactOf<'action'>;
const fold = (...facts: Step[]) => {
  const [row] = rowsOf(actions, facts);
  if (!row) throw new Error('No fact of an action removes its row');
  return row;
};
const derived = (row: ActionRow, table: string) =>
  actions
    .derived?.(row)
    .filter((one) => one.table === table)
    .map((one) => one.values);
const paid = (account: string, amount: string, denom = 'ulume') => ({ account, denom, amount });
const { registered, finalized, approved, expired, observed, found } = actionFacts('7');

describe('actions', () => {
  it('starts with what the record and the register transaction say', () => {
    const price = { denom: 'ulume', amount: '12345678901234567890' };
    expect(fold(registered({ transaction: transactionAt(5), price }))).toMatchObject({
      id: '7',
      type: 'cascade',
      status: 'registered',
      chain_state: 'pending',
      height: 5,
      created_at: timeOf(5),
      register_tx: { tx_hash: 'TX5', height: 5 },
      finalize_tx: null,
      approve_tx: null,
      price_denom: 'ulume',
      price_amount: '12345678901234567890',
      expires_at: null,
    });
  });

  it('shows the height without a hash where the register transaction is gone, and nothing where the height is unknown too', () => {
    expect(fold(registered())).toMatchObject({ register_tx: { tx_hash: null, height: 5 }, created_at: null });
    expect(fold(registered({ height: undefined }))).toMatchObject({ register_tx: null, height: null });
  });

  it('follows the steps, keeping null what no transaction tells', () => {
    expect(fold(registered(), finalized({ transaction: transactionAt(9) }), approved())).toMatchObject({
      status: 'approved',
      chain_state: 'approved',
      finalized_at: timeOf(9),
      finalize_tx: { tx_hash: 'TX9', height: 9 },
      approved_at: null,
      approve_tx: null,
    });
  });

  it('keeps the status that an expired, failed or rejected action had', () => {
    expect(fold(registered(), expired())).toMatchObject({ status: 'registered', chain_state: 'expired' });
    expect(fold(registered(), finalized(), observed('rejected'))).toMatchObject({
      status: 'finalized',
      chain_state: 'rejected',
    });
  });

  it('holds a data hash null while unknown and never empties one that is known', () => {
    const unknown = actionFacts('7', { dataHash: '' });
    expect(fold(unknown.registered())).toMatchObject({ data_hash: null });
    expect(fold(unknown.registered(), finalized(), unknown.approved())).toMatchObject({ data_hash: 'hash' });
  });

  it('keeps metadata that no later fact changes', () => {
    expect(fold(registered(), finalized(), approved()).metadata).toBe('bWV0YQ==');
    expect(fold(registered(), finalized({ metadata: 'bmV3' })).metadata).toBe('bmV3');
  });

  it('fills in transactions that are found later', () => {
    const late = [
      found('register', { transaction: transactionAt(5) }),
      found('finalize', { transaction: transactionAt(9) }),
    ];
    const row = fold(
      registered({ height: undefined }),
      finalized(),
      approved(),
      ...late,
      found('approve', { transaction: transactionAt(11) }),
    );
    expect(row).toMatchObject({ height: 5, created_at: timeOf(5), finalized_at: timeOf(9), approved_at: timeOf(11) });
    expect([row.register_tx, row.finalize_tx, row.approve_tx]).toEqual([
      { tx_hash: 'TX5', height: 5 },
      { tx_hash: 'TX9', height: 9 },
      { tx_hash: 'TX11', height: 11 },
    ]);
    expect(row.status).toBe('approved');
  });

  it('adds up what several finalize transactions paid, and shows the first of them', { tags: ['LS-12'] }, () => {
    const row = fold(
      registered(),
      finalized({
        accounts: ['a'],
        transaction: transactionAt(9),
        payments: [paid('a', '1'), paid('a', '2'), paid('a', '5', 'uother')],
      }),
      found('finalize', {
        accounts: ['a', 'b'],
        transaction: transactionAt(12),
        payments: [paid('b', '99999999999999999999')],
      }),
    );
    expect(row).toMatchObject({ accounts: ['a', 'b'], finalize_tx: { tx_hash: 'TX9', height: 9 } });
    expect(derived(row, 'payments')).toEqual([
      { id: '7', account: 'a', denom: 'ulume', amount: '3', tx_hash: 'TX9', height: 9, again: false },
      { id: '7', account: 'a', denom: 'uother', amount: '5', tx_hash: 'TX9', height: 9, again: false },
      {
        id: '7',
        account: 'b',
        denom: 'ulume',
        amount: '99999999999999999999',
        tx_hash: 'TX12',
        height: 12,
        again: false,
      },
    ]);
  });

  it('pairs each finalizing account with the height of the finalize transaction, else of the registration', () => {
    const pair = { account: 'a', id: '7', type: 'cascade', status: 'finalized', creator: 'lumera1creator', height: 5 };
    const known = fold(registered(), finalized({ accounts: ['a'], transaction: transactionAt(9) }));
    expect(derived(known, 'action_accounts')).toEqual([{ ...pair, at_height: 9, since_height: 9 }]);
    expect(derived(fold(registered(), finalized({ accounts: ['a'] })), 'action_accounts')).toEqual([
      { ...pair, at_height: 5, since_height: null },
    ]);
  });

  it('knows the least height of each step, and of each account that finalized', () => {
    const at = (height: number) => ({ transaction: transactionAt(height) });
    const heightsOf = (...facts: Step[]) => {
      const row = fold(...facts);
      const since = derived(row, 'action_accounts')?.map((one) => (one as { since_height: unknown }).since_height);
      return [row.finalized_height, row.approved_height, row.expired_height, row.accounts_since, since];
    };
    expect(heightsOf(registered())).toEqual([null, null, null, null, []]);
    expect(heightsOf(registered(), expired(50), expired(40))).toEqual([null, null, 40, null, []]);
    const both = [registered(), finalized({ accounts: ['a', 'b'], ...at(20) })];
    expect(heightsOf(...both, approved(at(30)))).toEqual([20, 30, null, null, [20, 20]]);
    expect(heightsOf(...both, approved())).toEqual([20, -1, null, null, [20, 20]]);
    expect(heightsOf(...both, approved(), found('approve', at(31)))).toEqual([20, 31, null, null, [20, 20]]);
    const third = found('finalize', { accounts: ['b', 'c'], ...at(25) });
    expect(heightsOf(...both, third)).toEqual([20, null, null, [20, 20, 25], [20, 20, 25]]);
    const early = found('finalize', { accounts: ['b'], ...at(15) });
    expect(heightsOf(...both, third, early)).toEqual([15, null, null, [20, 15, 25], [20, 15, 25]]);
    const unknown = [registered(), finalized({ accounts: ['a'] })];
    expect(heightsOf(...unknown)).toEqual([-1, null, null, [null], [null]]);
    expect(heightsOf(...unknown, third)).toEqual([25, null, null, [null, 25, 25], [25, 25, 25]]);
    expect(heightsOf(...unknown, third, early)).toEqual([15, null, null, [null, 15, 25], [15, 15, 25]]);
  });

  it('counts an action among all, for its creator and for each finalizing account, by height and by expiry', () => {
    const counted = (...facts: Step[]) =>
      (actions.counters ?? []).flatMap(({ table, counts }) =>
        counts(fold(...facts)).map(({ n, ...key }) => `${table.name} ${Object.values(key).join(' ')}: ${String(n)}`),
      );
    expect(counted(registered(), finalized({ accounts: ['a'] }))).toEqual([
      'block_counters all 1  0 f: 1',
      'block_counters all 16  0 f: 1',
      'block_counters all 0  0 f: 1',
      'block_counters creator 16 lumera1creator 0 f: 1',
      'block_counters creator 0 lumera1creator 0 f: 1',
      'block_counters account 16 a 0 f: 1',
      'block_counters account 0 a 0 f: 1',
      'window_counters all - f false: 1',
      'height_counters registered 0 0: 1',
      'height_counters finalized 0 0: 1',
      'height_counters last 0 -1: 1',
    ]);
    expect(counted(registered(), expired())).toContain('window_counters all - r true: 1');
    expect(counted(registered(), expired(9000))).toEqual(
      expect.arrayContaining(['height_counters last 0 2: 1', 'height_counters expired 0 2: 1']),
    );
  });

  it.each<[string, Step[]]>([
    ['no registration before it', [finalized()]],
    ['no registration before it', [found('register', { transaction: transactionAt(5) })]],
    ['it is registered', [registered(), registered()]],
    ['it is approved already', [registered(), finalized(), approved(), finalized()]],
    ['not finalized', [registered(), approved()]],
    ['the fact holds none', [registered(), found('register')]],
    ['no such step', [registered(), found('nonsense', { transaction: transactionAt(5) })]],
    ['no transaction that paid them', [registered(), finalized({ payments: [paid('a', '1')] })]],
  ])('stops at an order that no decider writes: %s', (reason, facts) => {
    expect(() => fold(...facts)).toThrow(reason);
  });
});
