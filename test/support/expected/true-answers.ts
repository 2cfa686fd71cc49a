import type { ChainState } from '../chains/chain-stub-state.ts';
import { type TrueAction, trueActions, trueNode, type TrueStep, trueValidator } from '../chains/chain-truth.ts';

type Json = Readonly<Record<string, unknown>>;

/** A request and the fields that its answer must have, each with all of its value. */
export type TrueAnswer = Readonly<{ path: string; answer: Json }>;

/** What the REST API must answer about a chain that has been read to its head: counts, filters, details, payments. */
export function trueAnswers(chain: ChainState): TrueAnswer[] {
  const actions = trueActions(chain);
  const operators = [...chain.supernodes.keys()].toSorted();
  return [
    { path: '/v1/actions/stats', answer: countsOf(actions) },
    ...totals(chain, actions, operators),
    ...actions.map((action) => ({ path: `/v1/actions/${action.id}`, answer: detailOf(chain, action) })),
    { path: '/v1/supernodes/action-stats', answer: { supernodes: operators.map((id) => workOf(chain, id, actions)) } },
    ...operators.map((id) => ({
      path: `/v1/supernodes/${id}/paymentInfo`,
      answer: { id, payments: paidTo(chain, id, actions) },
    })),
  ];
}

/** Every action as the list shows it, with its transactions, in the list's order. */
export function trueList(chain: ChainState): Json[] {
  const actions = trueActions(chain).toSorted((a, b) => Number(b.id) - Number(a.id));
  return actions.map((action) => ({ ...commonOf(action), transactions: transactionsOf(action) }));
}

/** Every SuperNode with what only the chain decides, in the list's order. */
export function trueFleet(chain: ChainState): Json[] {
  return [...chain.supernodes.keys()].toSorted().map((id) => {
    const node = trueNode(chain, id, chain.height);
    return { id, ip: String(node?.['address']).replace(/:\d+$/, ''), current_state: node?.['state'] };
  });
}

const statusOf = ({ finalize, approve }: TrueAction): string =>
  approve ? 'approved' : finalize ? 'finalized' : 'registered';

function commonOf(action: TrueAction): Json {
  return {
    id: action.id,
    type: action.kind,
    status: statusOf(action),
    chain_state: action.chainState,
    data_hash: action.dataHash,
    created_at: action.register.time,
    finalized_at: action.finalize?.time ?? null,
  };
}

function transactionsOf({ register, finalize, approve }: TrueAction): Json {
  const step = (one: TrueStep | undefined) => (one ? { tx_hash: one.hash, height: one.height } : null);
  return { register: step(register), finalize: step(finalize), approve: step(approve) };
}

function detailOf(chain: ChainState, action: TrueAction): Json {
  const { creator, height, price, expiresAt, finalize, approve } = action;
  const finalizedBy = finalize?.accounts.flatMap((account) => ownerOf(chain, account) ?? []) ?? [];
  return {
    ...commonOf(action),
    creator,
    approved_at: approve?.time ?? null,
    transactions: transactionsOf(action),
    height,
    price,
    expires_at: expiresAt,
    supernodes: finalizedBy,
    file_size_kbs: 6,
  };
}

function countsOf(actions: readonly TrueAction[]): Json {
  const count = (fits: (action: TrueAction) => boolean): number => actions.filter(fits).length;
  return {
    total_actions: actions.length,
    cascade_count: count(({ kind }) => kind === 'cascade'),
    sense_count: count(({ kind }) => kind === 'sense'),
    registered_count: count((action) => statusOf(action) === 'registered'),
    finalized_count: count((action) => statusOf(action) === 'finalized'),
    approved_count: count((action) => statusOf(action) === 'approved'),
    expired_count: count(({ chainState }) => chainState === 'expired'),
  };
}

function totals(chain: ChainState, actions: readonly TrueAction[], operators: readonly string[]): TrueAnswer[] {
  const middle = Math.floor(chain.height / 2);
  const nodesIn = (fits: (id: string) => boolean): number => operators.filter(fits).length;
  const validator = (id: string): Json | undefined => trueValidator(chain, id, chain.height);
  const of = (path: string, total: number): TrueAnswer => ({ path, answer: { total } });
  return [
    ...['registered', 'finalized', 'approved'].map((state) =>
      of(`/v1/actions?state=${state}`, actions.filter((action) => statusOf(action) === state).length),
    ),
    of(`/v1/actions?fromHeight=${middle}`, actions.filter(({ height }) => height >= middle).length),
    of(
      `/v1/actions?type=sense&toHeight=${middle}`,
      actions.filter((a) => a.kind === 'sense' && a.height <= middle).length,
    ),
    ...operators.map((id) =>
      of(`/v1/actions?supernode=${id}`, actions.filter((action) => isWorkOf(chain, id, action)).length),
    ),
    of(
      '/v1/supernodes/metrics?currentState=jailed',
      nodesIn((id) => validator(id)?.['jailed'] === true),
    ),
    ...['bonded', 'unbonding', 'unbonded'].map((bond) =>
      of(
        `/v1/supernodes/metrics?currentState=${bond}`,
        nodesIn((id) => validator(id)?.['status'] === bond),
      ),
    ),
  ];
}

/** The listed operator that an account is or was of; on this chain no account is ever handed on. */
function ownerOf(chain: ChainState, account: string): string | undefined {
  const isItsOwn = (record: Json): boolean =>
    (record['prev_supernode_accounts'] as { account: string }[]).some((held) => held.account === account);
  return [...chain.supernodes].find(([, record]) => isItsOwn(record))?.[0];
}

const isWorkOf = (chain: ChainState, id: string, { finalize }: TrueAction): boolean =>
  finalize?.accounts.some((account) => ownerOf(chain, account) === id) ?? false;

function workOf(chain: ChainState, id: string, actions: readonly TrueAction[]): Json {
  const own = actions.filter((action) => isWorkOf(chain, id, action));
  const cascade_count = own.filter(({ kind }) => kind === 'cascade').length;
  return { id, cascade_count, sense_count: own.length - cascade_count, total_count: own.length };
}

function paidTo(chain: ChainState, id: string, actions: readonly TrueAction[]): Json[] {
  const totalsOf = new Map<string, { amount: bigint; hashes: Set<string> }>();
  for (const { finalize } of actions) {
    for (const { account, denom, amount } of finalize?.payments ?? []) {
      if (!finalize || ownerOf(chain, account) !== id) continue;
      const total = totalsOf.get(denom) ?? { amount: 0n, hashes: new Set() };
      totalsOf.set(denom, { amount: total.amount + BigInt(amount), hashes: total.hashes.add(finalize.hash) });
    }
  }
  const sorted = [...totalsOf].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([denom, { amount, hashes }]) => ({
    denom,
    total_amount: String(amount),
    payment_count: hashes.size,
  }));
}
