import { readFileSync } from 'node:fs';

/** One transaction of an action. */
export type ExpectedTransaction = Readonly<{ tx_hash: string; height: number; time: string }>;
type Paid = Readonly<{ account: string; denom: string; amount: string }>;
/** The steps of an action, in their order. */
export const actionSteps = ['register', 'finalize', 'approve'] as const;

/** An action as it has to be at the last step. */
export type ExpectedAction = Readonly<{
  id: string;
  type: string;
  status: string;
  chain_state: string;
  creator: string;
  height: number;
  price: Readonly<{ denom: string; amount: string }>;
  expires_at: string;
  file_size_kbs: number;
  data_hash: string;
  file_name: string | null;
  public: boolean | null;
  register: ExpectedTransaction;
  finalize: ExpectedTransaction | null;
  approve: ExpectedTransaction | null;
  accounts: readonly string[];
  supernodes: readonly string[];
  payments: readonly Paid[];
  pool: readonly Paid[];
}>;

/** A SuperNode as it has to be at a step. */
export type ExpectedNode = Readonly<{
  id: string;
  state: string;
  state_height: number;
  state_reason: string;
  address: string;
  ip: string;
  account: string;
  accounts: readonly Readonly<{ account: string; height: number }>[];
  note: string;
  p2p_port: string;
  registered_height: number;
}>;

/** A validator as it has to be at a step. */
export type ExpectedValidator = Readonly<{ id: string; moniker: string; status: string; jailed: boolean }>;

type Counts = Readonly<Record<string, number>>;

/** What has to be known once the chain stands at a step. */
export type ExpectedStep = Readonly<{
  step: number;
  height: number;
  what: string;
  totals: Readonly<{
    actions: number;
    by_type: Counts;
    by_chain_state: Counts;
    by_status: Counts;
    by_type_and_status: Counts;
    by_creator: Counts;
  }>;
  statuses: Readonly<Record<string, string>>;
  chain_states: Readonly<Record<string, string>>;
  /** What happened to actions since the step before. */
  transitions: readonly Readonly<{ action: string; happened: readonly string[] }>[];
  supernodes: readonly ExpectedNode[];
  validators: readonly ExpectedValidator[];
}>;

type Earned = Readonly<{ owner: string; denom: string; total_amount: string; transactions: number }>;

/** What an independent count of the recordings came to; `test/fixtures/chain-rest/README.md` says how it counted. */
export type Expectations = Readonly<{
  chain_id: string;
  steps: readonly ExpectedStep[];
  actions: readonly ExpectedAction[];
  finalized_by_account: Counts;
  finalized_by_operator: Counts;
  payments_by_operator: readonly Earned[];
}>;

const fixtures = new URL('../../fixtures/', import.meta.url);

/** Reads the committed expectations. */
export function readExpectations(): Expectations {
  return JSON.parse(readFileSync(new URL('recorded-expectations.json', fixtures), 'utf8')) as Expectations;
}

/** The chain's own top list at a height, best first. */
export function readTopList(height: number): readonly string[] {
  const { top } = JSON.parse(readFileSync(new URL(`top-list/${height}.json`, fixtures), 'utf8')) as { top: string[] };
  return top;
}

/** An action as the REST API's detail has to show it at a step; `metadata` is left out. */
export function detailAt(action: ExpectedAction, { height, statuses, chain_states }: ExpectedStep) {
  const reached = (at: ExpectedTransaction | null) => (at && at.height <= height ? at : null);
  const shown = (at: ExpectedTransaction | null) => at && { tx_hash: at.tx_hash, height: at.height };
  const [register, finalize, approve] = [reached(action.register), reached(action.finalize), reached(action.approve)];
  return {
    id: action.id,
    type: action.type,
    status: statuses[action.id],
    chain_state: chain_states[action.id],
    data_hash: action.data_hash,
    created_at: register?.time ?? null,
    finalized_at: finalize?.time ?? null,
    approved_at: approve?.time ?? null,
    transactions: { register: shown(register), finalize: shown(finalize), approve: shown(approve) },
    creator: action.creator,
    height: action.height,
    price: action.price,
    expires_at: action.expires_at,
    supernodes: finalize ? action.supernodes : [],
    file_name: action.file_name,
    file_size_kbs: action.file_size_kbs,
    public: action.public,
  };
}

/** The same as the list has to show it with `include_transactions`. */
export function listItemAt(action: ExpectedAction, step: ExpectedStep) {
  const { id, type, status, chain_state, data_hash, created_at, finalized_at, transactions } = detailAt(action, step);
  return { id, type, status, chain_state, data_hash, created_at, finalized_at, transactions };
}

/** The actions of a step, the newest first. */
export function actionsAt({ actions }: Expectations, { statuses }: ExpectedStep): readonly ExpectedAction[] {
  return actions
    .filter(({ id }) => Object.hasOwn(statuses, id))
    .toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? 1 : -1));
}
