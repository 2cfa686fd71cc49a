import { kindColumn } from './kinds.ts';
import { defineTable, json, nullable } from '../columns.ts';

/** A transaction as spec 2 shows it; the hash is null where no node shows it any more. */
export type StepTransaction = Readonly<{ tx_hash: string | null; height: number }>;

/** The height of a step that was taken at no known height. */
export const unknownHeight = -1;

/** The payment to one account in one transaction; `again`: the transaction is counted with another action. */
export type PaymentOf = Readonly<{
  account: string;
  denom: string;
  amount: string;
  tx_hash: string;
  height: number;
  again: boolean;
}>;

/**
 * The main table: one action, folded from its facts. Times are RFC 3339 text, UTC, to the second; heights are of
 * blocks.
 *
 * The list walks its indexes in the order of the ids, one kind at a time where type or state is asked for.
 */
export const actionTable = defineTable({
  name: 'actions',
  columns: {
    id: 'numeric',
    type: 'text',
    status: 'text',
    chain_state: 'text',
    creator: 'text',
    data_hash: nullable('text'),
    height: nullable('int8'),
    price_denom: nullable('text'),
    price_amount: nullable('text'),
    file_size_kbs: 'int8',
    /** The chain's protobuf bytes in base64; empty where it has none. */
    metadata: 'text',
    expires_at: nullable('text'),
    created_at: nullable('text'),
    finalized_at: nullable('text'),
    approved_at: nullable('text'),
    register_tx: nullable(json<StepTransaction>()),
    finalize_tx: nullable(json<StepTransaction>()),
    approve_tx: nullable(json<StepTransaction>()),
    /** Least known height of a transaction of the step; -1: it was taken at no known height, null: it was not taken. */
    finalized_height: nullable('int8'),
    approved_height: nullable('int8'),
    /** Height at which the expiry was first seen. */
    expired_height: nullable('int8'),
    /** Accounts that finalized. */
    accounts: json<readonly string[]>(),
    /** For each of them the least height at which it did, null: with the step; null as a whole: all at its height. */
    accounts_since: nullable(json<readonly (number | null)[]>()),
    payments: json<readonly PaymentOf[]>(),
  },
  generated: { kind: kindColumn },
  key: ['id'],
  covered: ['height', 'finalized_height', 'approved_height', 'expired_height', 'type'],
  indexes: [
    { columns: 'kind, id', covered: 'height' },
    // As narrow as the next one: PostgreSQL would read that instead, all of a creator's actions of a range.
    { columns: 'creator, id', covered: 'height' },
    { columns: 'creator, kind, id', covered: 'height' },
    'created_at, kind, chain_state',
    'data_hash, id',
    { columns: 'position', covered: 'kind, height' },
  ],
  past: { covered: ['kind', 'height'], marks: true },
});

/**
 * Which account finalized which action, with all that the list filters by.
 *
 * A creator and an account together are indexed by a hash of 128 bits: both addresses would make the rows of the index
 * more than twice as long, and such lists are counted row by row. Heights would as well; they are compared for few of
 * them.
 */
export const actionAccounts = defineTable({
  name: 'action_accounts',
  columns: {
    account: 'text',
    id: 'numeric',
    type: 'text',
    status: 'text',
    creator: 'text',
    height: nullable('int8'),
    /** Of the finalize transaction, else of the register transaction: when the account counts as a node's. */
    at_height: nullable('int8'),
    /** Least height at which the account finalized; null while unknown. */
    since_height: nullable('int8'),
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
    // By its kind a row is left out within the index; the order of the list stays that of the ids.
    'pair, pair_again, id, kind',
  ],
});

/** One row per account, denomination, action and transaction that paid. */
export const payments = defineTable({
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
});
