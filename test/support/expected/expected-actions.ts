import { entityOf } from '../../../src/events/catalogue.ts';
import type { ActionRow } from '../../../src/projections/tables.ts';
import { type Cells, dataOf, type Lives, positionOf } from './lives.ts';

type Row = Omit<ActionRow, 'id'> & Readonly<{ id: number; position: number }>;

/**
 * The tables of actions that facts lead to, worked out from each action's life as a whole; numbers as JSON writes them.
 */
export function expectedActions(lives: Lives): Record<string, Cells[]> {
  const rows = [...lives].map(([id, life]) => ({ ...rowOf(life), id: Number(id) }));
  const superseded = [...lives].flatMap(([id, life]) =>
    life.slice(1).map(({ sequence: until }, at) => ({ ...rowOf(life.slice(0, at + 1)), id: Number(id), until })),
  );
  return {
    actions: rows.map((row) => ({ ...row, removed: false })),
    actions_past: superseded,
    actions_marks: marksOf(rows, lives),
    action_accounts: rows.flatMap((row) =>
      row.accounts.map((account) => ({
        account,
        id: row.id,
        type: row.type,
        status: row.status,
        creator: row.creator,
        height: row.height,
        at_height: row.finalize_tx?.height ?? row.height,
        since_height: sinceOf(account, lives.get(String(row.id)) ?? []),
      })),
    ),
    payments: rows.flatMap(({ id, payments }) =>
      payments.map((paid) => ({ ...paid, id, amount: Number(paid.amount) })),
    ),
    ...countersOf(rows),
  };
}

/** The least and the greatest id among the actions whose first fact lies in a block of 1,024 positions. */
function marksOf(rows: readonly Row[], lives: Lives): Cells[] {
  const firsts = rows.map(({ id }) => ({ id, block: Math.floor((lives.get(String(id))?.[0]?.sequence ?? 0) / 1024) }));
  return [...Map.groupBy(firsts, ({ block }) => block)].map(([block, same]) => ({
    block,
    least: Math.min(...same.map(({ id }) => id)),
    greatest: Math.max(...same.map(({ id }) => id)),
  }));
}

function rowOf(life: Life): Omit<Row, 'id'> {
  const [registered] = dataOf(life, 'ActionRegistered');
  const [finalized] = dataOf(life, 'ActionFinalized');
  const [approved] = dataOf(life, 'ActionApproved');
  const found = dataOf(life, 'ActionTransactionFound');
  if (!registered) throw new Error(`The life of action ${life.map(({ fact }) => entityOf(fact))[0]} has no beginning`);
  const known = life.map(({ fact }) => (fact as { data: { known: Known } }).data.known);
  const transactionOf = (step: string, told: typeof registered.transaction) =>
    told ?? found.find((one) => one.step === step)?.transaction;
  const register = transactionOf('register', registered.transaction);
  const finalize = transactionOf('finalize', finalized?.transaction);
  const approve = transactionOf('approve', approved?.transaction);
  const height = registered.height ?? register?.height ?? null;
  const shown = (step: typeof register) => (step ? { tx_hash: step.hash, height: step.height } : null);
  return {
    type: registered.kind,
    status: approved ? 'approved' : finalized ? 'finalized' : 'registered',
    chain_state: known.at(-1)?.chainState ?? '',
    creator: known.at(-1)?.creator ?? '',
    data_hash: known.findLast(({ dataHash }) => dataHash !== '')?.dataHash ?? null,
    expires_at: known.findLast(({ expiresAt }) => expiresAt !== undefined)?.expiresAt ?? null,
    height,
    price_denom: registered.price?.denom ?? null,
    price_amount: registered.price?.amount ?? null,
    file_size_kbs: registered.fileSizeKbs,
    metadata: finalized?.metadata || registered.metadata,
    created_at: register?.time ?? null,
    finalized_at: finalize?.time ?? null,
    approved_at: approve?.time ?? null,
    register_tx: shown(register) ?? (height === null ? null : { tx_hash: null, height }),
    finalize_tx: shown(finalize),
    approve_tx: shown(approve),
    ...heightsOfSteps(life),
    accounts: [...new Set([finalized, ...found].flatMap((one) => one?.accounts ?? []))],
    payments: paymentsOf([...(finalized ? [finalized] : []), ...found]),
    position: positionOf(life),
  };
}

type Life = Lives extends ReadonlyMap<string, infer L> ? L : never;

/** What names who finalized, each with its height where it has one; the step's own fact comes first. */
const finalizingIn = (life: Life) =>
  [...dataOf(life, 'ActionFinalized'), ...dataOf(life, 'ActionTransactionFound')]
    .filter((data) => !('step' in data) || data.step === 'finalize')
    .map(({ accounts, transaction }) => ({ accounts, height: transaction?.height }));

const leastOf = (heights: readonly (number | undefined)[]) => {
  const known = heights.filter((height) => height !== undefined);
  return heights.length === 0 ? null : known.length === 0 ? -1 : Math.min(...known);
};

/** The least height at which an account finalized: that of the step where a fact names it without a transaction. */
function sinceOf(account: string, life: Life): number | null {
  const all = finalizingIn(life);
  const own = all.filter(({ accounts }) => accounts.includes(account)).map(({ height }) => height);
  const least = leastOf(own.includes(undefined) ? all.map(({ height }) => height) : own);
  return least === -1 ? null : least;
}

function heightsOfSteps(life: Life) {
  const all = finalizingIn(life);
  const approvals = dataOf(life, 'ActionTransactionFound').filter(({ step }) => step === 'approve');
  const finalized_height = leastOf(all.map(({ height }) => height));
  const since = [...new Set(all.flatMap(({ accounts }) => accounts))].map((account) => {
    const own = all.filter(({ accounts }) => accounts.includes(account)).map(({ height }) => height);
    return own.includes(undefined) ? null : leastOf(own);
  });
  return {
    finalized_height,
    approved_height: leastOf(
      [...dataOf(life, 'ActionApproved'), ...approvals].map(({ transaction }) => transaction?.height),
    ),
    expired_height: leastOf(dataOf(life, 'ActionExpired').map(({ seenAtHeight }) => seenAtHeight)),
    accounts_since: since.every((height) => height === finalized_height) ? null : since,
  };
}

type Known = Readonly<{ chainState: string; creator: string; dataHash: string; expiresAt?: string }>;
type Paying = Readonly<{
  payments: readonly { account: string; denom: string; amount: string; again?: boolean | undefined }[];
  transaction?: { hash: string; height: number } | undefined;
}>;

/** What each transaction is last said to have paid, transfers of one account and denomination added up. */
function paymentsOf(told: readonly Paying[]): ActionRow['payments'] {
  const byHash = new Map(
    told.flatMap(({ payments, transaction }) =>
      transaction && payments.length > 0 ? [[transaction.hash, { payments, height: transaction.height }]] : [],
    ),
  );
  return [...byHash].flatMap(([tx_hash, { payments, height }]) =>
    [...Map.groupBy(payments, ({ account, denom }) => `${account} ${denom}`).values()].map((same) => ({
      account: same[0]?.account ?? '',
      denom: same[0]?.denom ?? '',
      amount: String(same.reduce((sum, { amount }) => sum + BigInt(amount), 0n)),
      tx_hash,
      height,
      again: same[0]?.again === true,
    })),
  );
}

/** The tables of counters: each key with how many rows have it, or with what they were paid. */
function countersOf(rows: readonly Row[]): Record<string, Cells[]> {
  const counted = (cellsOf: (row: Row) => readonly Cells[]) =>
    [...Map.groupBy(rows.flatMap(cellsOf), (cells) => JSON.stringify(cells)).values()].map((same) => ({
      ...same[0],
      n: same.length,
    }));
  return {
    block_counters: counted(blocksOf),
    height_counters: counted(heightsOf),
    window_counters: counted(windowsOf),
    payment_counters: paidIn(rows.flatMap(({ payments }) => payments)),
  };
}

/** Amounts as JSON writes them, zeros left out. */
function paidIn(payments: ActionRow['payments']): Cells[] {
  const cellOf = (height: number) => Math.floor(height / 1_048_576);
  const alike = Map.groupBy(payments, ({ account, denom, height }) => JSON.stringify([account, denom, cellOf(height)]));
  return [...alike.values()].flatMap((same) => {
    const { account = '', denom = '', height = 0 } = same[0] ?? {};
    const amount = Number(same.reduce((sum, one) => sum + BigInt(one.amount), 0n));
    const transactions = same.filter(({ again }) => !again).length;
    const isZero = amount === 0 && transactions === 0;
    return isZero ? [] : [{ account, cell: cellOf(height), denom, transactions, amount }];
  });
}

const letters: Readonly<Record<string, string>> = {
  'cascade registered': 'r',
  'cascade finalized': 'f',
  'cascade approved': 'a',
  'sense registered': 'R',
  'sense finalized': 'F',
  'sense approved': 'A',
};
const kindOf = ({ type, status }: Row): string => letters[`${type} ${status}`] ?? '?';

function blocksOf(row: Row): Cells[] {
  const kind = kindOf(row);
  const block = Math.floor(row.id / 1024);
  const grouped = (scope: string, address: string) => [
    { scope, span: 16, address, block: Math.floor(block / 16) * 16, kind },
    { scope, span: 0, address, block: 0, kind },
  ];
  return [
    { scope: 'all', span: 1, address: '', block, kind },
    ...grouped('all', ''),
    ...grouped('creator', row.creator),
    ...row.accounts.flatMap((account) => grouped('account', account)),
  ];
}

function heightsOf({ id, height, accounts, finalize_tx, ...row }: Row): Cells[] {
  const block = Math.floor(id / 1024);
  const cell = (at: number | null) => (at === null ? -1 : Math.floor(at / 4096));
  const finalized = { step: 'finalized', block, cell: cell(finalize_tx?.height ?? height) };
  const taken = [height ?? -1, row.finalized_height, row.approved_height, row.expired_height].filter(
    (at) => at !== null,
  );
  const last = { step: 'last', block, cell: taken.includes(-1) ? -1 : cell(Math.max(...taken)) };
  const expired = { step: 'expired', block, cell: cell(row.expired_height) };
  return [
    { step: 'registered', block, cell: cell(height) },
    ...(accounts.length > 0 ? [finalized] : []),
    last,
    ...(row.expired_height === null ? [] : [expired]),
  ];
}

function windowsOf(row: Row): Cells[] {
  const cells = { kind: kindOf(row), expired: row.chain_state === 'expired' };
  const { created_at } = row;
  if (created_at === null) return [{ unit: 'all', period: '-', ...cells }];
  return [
    { unit: 'all', period: '-', ...cells },
    { unit: 'month', period: created_at.slice(0, 7), ...cells },
    { unit: 'day', period: created_at.slice(0, 10), ...cells },
  ];
}
