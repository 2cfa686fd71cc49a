import type { actionAccounts, actionTable, payments } from './actions/action-tables.ts';
import type {
  blockLogs,
  blockTable,
  blockTransactions,
  chainTransactions,
  transactionTerms,
} from './chain/block-tables.ts';
import type { RowOf, Table } from './columns.ts';
import type { availabilityTable, supernodeAccounts, supernodeTable, validatorTable } from './fleet/fleet-tables.ts';
import type { roundTable } from './rounds/round-table.ts';
import type { peerTable, storedFileTable } from './storage/storage-tables.ts';
import type { transferTable } from './transfers/transfer-table.ts';
import type { incidentTable, uptimeDayTable, uptimeOpenTable } from './uptime/uptime-tables.ts';

/** One action. */
export type ActionRow = RowOf<typeof actionTable>;
/** One listed SuperNode. */
export type SuperNodeRow = RowOf<typeof supernodeTable>;
/** A period of an account with an operator. */
export type SuperNodeAccountRow = RowOf<typeof supernodeAccounts>;
/** One listed validator. */
export type ValidatorRow = RowOf<typeof validatorTable>;
/** The result of a node's latest probe. */
export type AvailabilityRow = RowOf<typeof availabilityTable>;
/** The state of one source of sync. */
export type RoundRow = RowOf<typeof roundTable>;

/** A file at a SuperNode. */
export type StoredFileRow = RowOf<typeof storedFileTable>;
/** The state of a peer for a SuperNode. */
export type PeerBanRow = RowOf<typeof peerTable>;
/** A closed day of a node. */
export type UptimeDayRow = RowOf<typeof uptimeDayTable>;
/** An incident of closed days. */
export type IncidentRow = RowOf<typeof incidentTable>;
/** The days of a node that are not closed yet. */
export type UptimeOpenRow = RowOf<typeof uptimeOpenTable>;
/** One task of the gateway. */
export type TransferRow = RowOf<typeof transferTable>;

/**
 * A main table's row with what the engine adds: the sequence of the fact that last touched it, and whether it was
 * removed.
 */
type Main<T extends Table> = RowOf<T> & Readonly<{ position: number; removed: boolean }>;

/** The tables of the projections' schemas as queries see them, without those of counters. */
export type Tables = {
  actions: Main<typeof actionTable>;
  action_accounts: RowOf<typeof actionAccounts>;
  payments: RowOf<typeof payments>;
  supernodes: Main<typeof supernodeTable>;
  supernode_accounts: RowOf<typeof supernodeAccounts>;
  validators: Main<typeof validatorTable>;
  availability: Main<typeof availabilityTable>;
  rounds: Main<typeof roundTable>;
  transfers: Main<typeof transferTable>;
  stored_files: Main<typeof storedFileTable>;
  peer_bans: Main<typeof peerTable>;
  uptime_days: Main<typeof uptimeDayTable>;
  incidents: Main<typeof incidentTable>;
  uptime_open: Main<typeof uptimeOpenTable>;
  blocks: Main<typeof blockTable>;
  block_transactions: RowOf<typeof blockTransactions>;
  block_logs: RowOf<typeof blockLogs>;
  chain_transactions: RowOf<typeof chainTransactions>;
  transaction_terms: RowOf<typeof transactionTerms>;
};
