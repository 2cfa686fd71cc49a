import { kindColumn } from './kinds.ts';
import type { Table } from '../projection.ts';

/** The main table; the list walks its indexes in the order of the ids, one kind at a time where type or state is asked for. */
export const actionTable: Table = {
  name: 'actions',
  columns: {
    id: 'numeric',
    type: 'text',
    status: 'text',
    chain_state: 'text',
    creator: 'text',
    data_hash: 'text',
    height: 'int8',
    price_denom: 'text',
    price_amount: 'text',
    file_size_kbs: 'int8',
    metadata: 'text',
    expires_at: 'text',
    created_at: 'text',
    finalized_at: 'text',
    approved_at: 'text',
    register_tx: 'jsonb',
    finalize_tx: 'jsonb',
    approve_tx: 'jsonb',
    accounts: 'jsonb',
    payments: 'jsonb',
  },
  generated: { kind: kindColumn },
  key: ['id'],
  covered: ['height'],
  indexes: [
    { columns: 'kind, id', covered: 'height' },
    { columns: 'creator, id', covered: 'height' },
    { columns: 'creator, kind, id', covered: 'height' },
    'created_at, kind, chain_state',
  ],
};

/**
 * Which account finalized which action, with all that the list filters by.
 *
 * A creator and an account are looked for together by 128 bits that they hash to: both addresses would make the rows of the index
 * more than twice as long, and such lists are counted row by row. Heights would as well; they are compared for few of them.
 */
export const actionAccounts: Table = {
  name: 'action_accounts',
  columns: {
    account: 'text',
    id: 'numeric',
    type: 'text',
    status: 'text',
    creator: 'text',
    height: 'int8',
    at_height: 'int8',
  },
  generated: {
    kind: kindColumn,
    pair: { type: 'int8', as: `hashtextextended(creator || ' ' || account, 0)` },
    pair_again: { type: 'int8', as: `hashtextextended(creator || ' ' || account, 1)` },
  },
  key: ['account', 'id'],
  covered: ['height', 'at_height'],
  indexes: [
    { columns: 'account, kind, id', covered: 'height, at_height' },
    { columns: 'pair, pair_again, id', covered: 'kind' },
  ],
};

/** One row per account, denomination, action and transaction that paid. */
export const payments: Table = {
  name: 'payments',
  columns: {
    account: 'text',
    denom: 'text',
    id: 'numeric',
    tx_hash: 'text',
    height: 'int8',
    amount: 'numeric',
    again: 'bool',
  },
  key: ['account', 'height', 'denom', 'tx_hash', 'id'],
};
