import { entityOf } from '../../src/events/catalogue.ts';
import type { ActionRow } from '../../src/projections/tables.ts';
import { type Cells, dataOf, type Lives, positionOf } from './lives.ts';

type Row = Omit<ActionRow, 'id'> & Readonly<{ id: number; position: number }>;

/** The tables of actions that facts lead to, worked out from each action's life as a whole; numbers as JSON writes them. */
export function expectedActions(lives: Lives): Record<string, Cells[]> {
  const rows = [...lives].map(([id, life]) => ({ ...rowOf(life), id: Number(id) }));
  return {
    actions: rows.map((row) => ({ ...row, removed: false })),
    action_accounts: rows.flatMap((row) =>
      row.accounts.map((account) => ({
        account,
        id: row.id,
        type: row.type,
        status: row.status,
        creator: row.creator,
        height: row.height,
        at_height: row.finalize_tx?.height ?? row.height,
      })),
    ),
    payments: rows.flatMap(({ id, payments }) =>
      payments.map((paid) => ({ ...paid, id, amount: Number(paid.amount) })),
    ),
    counters: countersOf(rows),
  };
}

function rowOf(life: Lives extends ReadonlyMap<string, infer L> ? L : never): Omit<Row, 'id'> {
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
    accounts: [...new Set([finalized, ...found].flatMap((one) => one?.accounts ?? []))],
    payments: paymentsOf([...(finalized ? [finalized] : []), ...found]),
    position: positionOf(life),
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

function countersOf(rows: readonly Row[]): Cells[] {
  const counters = new Map<string, number>();
  for (const name of rows.flatMap(countedIn)) counters.set(name, (counters.get(name) ?? 0) + 1);
  for (const [name, n] of rows.flatMap(({ payments }) => payments.flatMap(paidIn)))
    counters.set(name, (counters.get(name) ?? 0) + n);
  return [...counters].map(([name, n]) => ({ name, n }));
}

/** Amounts are kept in digits of a billion, the lowest first. */
function paidIn({ account, denom, amount, height, again }: ActionRow['payments'][number]): [string, number][] {
  const name = `paid:${account},${withLength(Math.floor(height / 1_048_576))},${denom}`;
  const counts: [string, number][] = again ? [] : [[`${name},t`, 1]];
  for (let [rest, place] = [BigInt(amount), 0]; rest > 0n; rest /= 1_000_000_000n, place += 1)
    counts.push([`${name},${place}`, Number(rest % 1_000_000_000n)]);
  return counts.filter(([, n]) => n > 0);
}

function countedIn(row: Row): string[] {
  const { id, type, status, creator, accounts, chain_state, height, created_at } = row;
  const isExpired = chain_state === 'expired';
  const kind = `type:${type},status:${status}`;
  const cell = `${kind}${isExpired ? ',expired' : ''}`;
  const scopes = ['all16', `creator:${creator}`, ...accounts.map((account) => `account:${account}`)];
  const block = Math.floor(id / 1024);
  const place = (of: string, at: number | null) =>
    `heights:${of},${at === null ? 'unknown' : Math.floor(at / 4096)},${block}`;
  return [
    'all',
    `type:${type}`,
    `status:${status}`,
    kind,
    ...(created_at === null
      ? []
      : [`day:${created_at.slice(0, 10)},${cell}`, `month:${created_at.slice(0, 7)},${cell}`]),
    place('registered', height),
    ...(accounts.length > 0 ? [place('finalized', row.finalize_tx?.height ?? height)] : []),
    `all,${withLength(block)},${type},${status}`,
    ...scopes.map((scope) => `${scope},${withLength(Math.floor(block / 16))},${type},${status}`),
    ...accounts.map((account) => `finalized:${type},${account}`),
    ...(isExpired ? ['expired', `expired,type:${type}`] : []),
  ];
}

const withLength = (number: number): string => `${String(String(number).length).padStart(2, '0')}${number}`;
