import type { Fact, FactTypeOf } from '../../events/catalogue.ts';
import { defineProjection } from '../projection.ts';
import type { ActionRow } from '../tables.ts';
import { actionAccounts, actionTable, type PaymentOf, payments, type StepTransaction } from './action-tables.ts';
import { accountsWith, finalizedSince, reachedAt } from './height/step-heights.ts';
import { blockCounters } from './totals/block-counters.ts';
import { heightCounters } from './totals/height-extents.ts';
import { paymentCounters } from './totals/payment-counters.ts';
import { windowCounters } from './totals/window-counters.ts';

type ActionFactType = FactTypeOf<'action'>;
type Data<T extends ActionFactType> = Fact<T>['data'];
type Transaction = NonNullable<Data<'ActionApproved'>['transaction']>;

/**
 * Every action with its accounts, payments and exact counters: overall, by time, per creator and per finalizing
 * account.
 */
export const actions = defineProjection({
  name: 'actions',
  version: 17,
  stream: 'ACTIONS',
  table: actionTable,
  derivedTables: [actionAccounts, payments],
  on: {
    ActionRegistered: (data) => [{ key: data.action, next: (row) => registered(row, data) }],
    ActionFinalized: (data) => [{ key: data.action, next: (row) => finalized(row, data) }],
    ActionApproved: (data) => [{ key: data.action, next: (row) => approved(row, data) }],
    ActionExpired: (data) => [{ key: data.action, next: (row) => expired(row, data) }],
    ActionStateObserved: ({ action, known }) => [
      { key: action, next: (row) => observed(existing(row, action, 'change the state of'), known) },
    ],
    ActionTransactionFound: (data) => [{ key: data.action, next: (row) => match(row, data) }],
  },
  derived: (row) => [
    ...row.accounts.map((account, place) => finalizedBy(account, { row, since_height: finalizedSince(row, place) })),
    ...row.payments.map((paid) => ({ table: 'payments' as const, values: { id: row.id, ...paid } })),
  ],
  counters: [blockCounters, windowCounters, heightCounters, paymentCounters],
});

function registered(row: ActionRow | undefined, data: Data<'ActionRegistered'>): ActionRow {
  if (row)
    throw new Error(`Cannot register action ${data.action} again: it is registered, and no decider registers it twice`);
  const { action, kind, price, transaction, known } = data;
  const height = data.height ?? transaction?.height ?? null;
  return {
    id: action,
    type: kind,
    status: 'registered',
    ...carried({ data_hash: null, expires_at: null }, known),
    height,
    price_denom: price?.denom ?? null,
    price_amount: price?.amount ?? null,
    file_size_kbs: data.fileSizeKbs,
    metadata: data.metadata,
    created_at: transaction?.time ?? null,
    finalized_at: null,
    approved_at: null,
    register_tx: transaction ? shown(transaction) : withoutHash(height),
    finalize_tx: null,
    approve_tx: null,
    finalized_height: null,
    approved_height: null,
    expired_height: null,
    accounts_since: null,
    accounts: [],
    payments: [],
  };
}

function finalized(row: ActionRow | undefined, data: Data<'ActionFinalized'>): ActionRow {
  const { action, transaction, known } = data;
  const before = existing(row, action, 'finalize');
  if (before.status !== 'registered')
    throw new Error(`Cannot finalize action ${action}: it is ${before.status} already`);
  const finalizing = transaction ? finalizedIn(transaction) : {};
  return {
    ...before,
    ...carried(before, known),
    ...finalizing,
    status: 'finalized',
    metadata: data.metadata || before.metadata,
    ...accountsWith(before, data.accounts, transaction),
    payments: withPayments(before, data.payments, transaction),
  };
}

function approved(row: ActionRow | undefined, { action, transaction, known }: Data<'ActionApproved'>): ActionRow {
  const before = existing(row, action, 'approve');
  if (before.status !== 'finalized')
    throw new Error(`Cannot approve action ${action}: it is ${before.status}, not finalized`);
  return {
    ...before,
    ...carried(before, known),
    status: 'approved',
    ...approvedBy(transaction),
    approved_height: reachedAt(before.approved_height, transaction),
  };
}

/**
 * A transaction recorded late fills what was unknown; a further finalize transaction adds its accounts and payments.
 */
function match(row: ActionRow | undefined, data: Data<'ActionTransactionFound'>): ActionRow {
  const { action, step, transaction, known } = data;
  const before = existing(row, action, 'add a transaction to');
  if (!transaction) throw new Error(`Cannot add a transaction to action ${action}: the fact holds none`);
  return {
    ...before,
    ...carried(before, known),
    ...(isShown(before, step) ? {} : filledBy(step, transaction, before)),
    ...(step === 'approve' && { approved_height: reachedAt(before.approved_height, transaction) }),
    ...(step === 'finalize' && accountsWith(before, data.accounts, transaction)),
    payments: withPayments(before, data.payments, transaction),
  };
}

function filledBy(step: string, transaction: Transaction, row: ActionRow): Partial<ActionRow> {
  if (step === 'finalize') return finalizedIn(transaction);
  if (step === 'approve') return approvedBy(transaction);
  const height = row.height ?? transaction.height;
  return { height, register_tx: shown(transaction), created_at: transaction.time ?? null };
}

/** Returns whether the step's transaction is known already: the first one stays. */
function isShown(row: ActionRow, step: string): boolean {
  if (step === 'register') return typeof row.register_tx?.tx_hash === 'string';
  if (step === 'finalize') return row.finalize_tx !== null;
  if (step === 'approve') return row.approve_tx !== null;
  throw new Error(`Cannot add a transaction of step ${JSON.stringify(step)} to action ${row.id}: no such step`);
}

function expired(row: ActionRow | undefined, { action, seenAtHeight, known }: Data<'ActionExpired'>): ActionRow {
  const before = existing(row, action, 'expire');
  const expired_height = Math.min(before.expired_height ?? seenAtHeight, seenAtHeight);
  return { ...observed(before, known), expired_height };
}

function observed(row: ActionRow, known: Data<'ActionExpired'>['known']): ActionRow {
  return { ...row, ...carried(row, known) };
}

/** The values that every fact repeats; a known hash is never emptied. */
function carried(before: Pick<ActionRow, 'data_hash' | 'expires_at'>, known: Data<ActionFactType>['known']) {
  return {
    chain_state: known.chainState,
    creator: known.creator,
    data_hash: known.dataHash || before.data_hash,
    expires_at: known.expiresAt ?? before.expires_at,
  };
}

const finalizedIn = (transaction: Transaction) => ({
  finalize_tx: shown(transaction),
  finalized_at: transaction.time ?? null,
});

const approvedBy = (transaction: Transaction | undefined) =>
  transaction ? { approve_tx: shown(transaction), approved_at: transaction.time ?? null } : {};

const shown = ({ hash, height }: Transaction): StepTransaction => ({ tx_hash: hash, height });

const withoutHash = (height: number | null): StepTransaction | null =>
  height === null ? null : { tx_hash: null, height };

function existing(row: ActionRow | undefined, action: string, doing: string): ActionRow {
  if (!row) throw new Error(`Cannot ${doing} action ${action}: no registration before it, which no decider writes`);
  return row;
}

function finalizedBy(account: string, { row, since_height }: { row: ActionRow; since_height: number | null }) {
  const { id, type, status, creator, height, finalize_tx } = row;
  const at_height = finalize_tx?.height ?? height;
  const values = { account, id, type, status, creator, height, at_height, since_height };
  return { table: 'action_accounts' as const, values };
}

type Paid = Fact<'ActionFinalized'>['data']['payments'];

/**
 * An action's payments with those of one transaction.
 *
 * One entry per account, denomination and transaction; transfers of the same three inside one fact add up. A later fact
 * about a transaction replaces its known payments.
 */
function withPayments(row: ActionRow, paid: Paid, transaction: Transaction | undefined): readonly PaymentOf[] {
  if (paid.length === 0) return row.payments;
  if (!transaction) throw new Error(`Cannot add payments to action ${row.id}: no transaction that paid them`);
  const { hash: tx_hash, height } = transaction;
  const sums = new Map<string, PaymentOf>();
  for (const { account, denom, amount, again = false } of paid) {
    const key = JSON.stringify([account, denom]);
    sums.set(key, { account, denom, amount: sum(sums.get(key)?.amount ?? '0', amount), tx_hash, height, again });
  }
  return [...row.payments.filter((earlier) => earlier.tx_hash !== tx_hash), ...sums.values()];
}

/** Amounts are decimal text of any size. */
const sum = (a: string, b: string) => String(BigInt(a) + BigInt(b));
