import type { ProjectionName } from './projection.ts';

/** A transaction as spec 2 shows it; the hash is null where no node shows it any more. */
export type StepTransaction = Readonly<{ tx_hash: string | null; height: number }>;

/** One action, as its facts tell it. Times are RFC 3339 text, UTC, to the second; heights are of blocks. */
export type ActionRow = Readonly<{
  /** Decimal text; its column sorts as a number of any size. */
  id: string;
  type: string;
  status: string;
  chain_state: string;
  creator: string;
  data_hash: string | null;
  height: number | null;
  price_denom: string | null;
  price_amount: string | null;
  file_size_kbs: number;
  /** The chain's protobuf bytes in base64; empty where it keeps none. */
  metadata: string;
  expires_at: string | null;
  created_at: string | null;
  finalized_at: string | null;
  approved_at: string | null;
  register_tx: StepTransaction | null;
  finalize_tx: StepTransaction | null;
  approve_tx: StepTransaction | null;
  /** Accounts that finalized. */
  accounts: readonly string[];
  payments: readonly PaymentOf[];
}>;

/** What one account was paid in one transaction; `again`: the transaction is counted with another action. */
export type PaymentOf = Readonly<{
  account: string;
  denom: string;
  amount: string;
  tx_hash: string;
  height: number;
  again: boolean;
}>;

/** Which account finalized which action: lists an account's actions in the order of the main list. */
export type ActionAccountRow = Readonly<{
  account: string;
  id: string;
  type: string;
  status: string;
  creator: string;
  height: number | null;
  /** Of the finalize transaction, else of the register transaction: when the account counts as a node's. */
  at_height: number | null;
}>;

/** A payment of the action module to an account inside a finalize transaction. */
export type PaymentRow = Readonly<{
  account: string;
  denom: string;
  id: string;
  tx_hash: string;
  height: number;
  amount: string;
  again: boolean;
}>;

/** One listed SuperNode, as the chain describes it. */
export type SuperNodeRow = Readonly<{
  id: string;
  state: string;
  state_height: number | null;
  state_reason: string;
  address: string;
  account: string;
  accounts: readonly { account: string; height: number }[];
  note: string;
  p2p_port: string;
  registered_height: number | null;
}>;

/**
 * An account of an operator, from a height on until another follows (null: still in use).
 *
 * The first account's period begins at 0, whatever height the chain states for it.
 */
export type SuperNodeAccountRow = Readonly<{
  operator: string;
  account: string;
  from_height: number;
  until_height: number | null;
  /** Height that the chain states for the beginning. */
  stated_height: number;
}>;

/** One listed validator; the status is `bonded`, `unbonding` or `unbonded`. */
export type ValidatorRow = Readonly<{ id: string; moniker: string; status: string; jailed: boolean }>;

/** What the latest probe of a node found, and the last figures known. */
export type AvailabilityRow = Readonly<{
  id: string;
  available: boolean;
  failed_probe_counter: number;
  last_seen_at: string | null;
  probed_at: string;
  ports: readonly { port: number; outcome: string }[];
  status_answer: string;
  services: readonly string[];
  version: string | null;
  peer_count: number | null;
  cpu_cores: number | null;
  cpu_usage_percent: number | null;
  memory_total_gb: number | null;
  memory_used_gb: number | null;
  storage_total_gb: number | null;
  storage_used_gb: number | null;
  uptime_seconds: number | null;
}>;

/** What is known of one source of sync: its last completed round and its last failure since. The row `chain` holds the chain's id. */
export type RoundRow = Readonly<{
  source: string;
  chain_id: string | null;
  completed_at: string | null;
  completed_height: number | null;
  completed_block_time: string | null;
  cursor: number;
  requests: number | null;
  facts: number | null;
  skipped: readonly { record: string; reason: string }[];
  failed_at: string | null;
  failed_reason: string | null;
  failed_message: string | null;
  minimum_version: string | null;
  requested_at: string | null;
}>;

/** A main table's row with what the engine adds: the sequence of the fact that last touched it, and whether it was removed. */
export type Kept<Row> = Row & Readonly<{ position: number; removed: boolean }>;

/** The tables of each projection's schema, without those of counters. */
export type Tables = {
  actions: Kept<ActionRow>;
  action_accounts: ActionAccountRow;
  payments: PaymentRow;
  supernodes: Kept<SuperNodeRow>;
  supernode_accounts: SuperNodeAccountRow;
  validators: Kept<ValidatorRow>;
  availability: Kept<AvailabilityRow>;
  rounds: Kept<RoundRow>;
};

/** Which projection a table belongs to. */
export const owner = {
  actions: 'actions',
  action_accounts: 'actions',
  payments: 'actions',
  supernodes: 'supernodes',
  supernode_accounts: 'supernodes',
  validators: 'validators',
  availability: 'availability',
  rounds: 'rounds',
} as const satisfies Record<keyof Tables, ProjectionName>;
