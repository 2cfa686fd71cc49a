import { defineTable, json, nullable } from '../columns.ts';

/** One listed SuperNode, as the chain describes it. */
export const supernodeTable = defineTable({
  name: 'supernodes',
  columns: {
    id: 'text',
    state: 'text',
    state_height: nullable('int8'),
    state_reason: 'text',
    address: 'text',
    account: 'text',
    accounts: json<readonly Readonly<{ account: string; height: number }>[]>(),
    note: 'text',
    p2p_port: 'text',
    registered_height: nullable('int8'),
  },
  key: ['id'],
  past: {},
});

/** An account of an operator, from a height until another follows (null: still in use). */
export const supernodeAccounts = defineTable({
  name: 'supernode_accounts',
  columns: {
    operator: 'text',
    account: 'text',
    from_height: 'int8',
    until_height: nullable('int8'),
    /** The start height that the chain states. */
    stated_height: 'int8',
  },
  key: ['operator', 'account', 'from_height'],
  indexes: ['account, from_height'],
});

/** One listed validator; the status is `bonded`, `unbonding` or `unbonded`. */
export const validatorTable = defineTable({
  name: 'validators',
  columns: { id: 'text', moniker: 'text', status: 'text', jailed: 'bool' },
  key: ['id'],
  past: {},
});

/** The result of a node's latest probe, and the last known figures. */
export const availabilityTable = defineTable({
  name: 'availability',
  columns: {
    id: 'text',
    available: 'bool',
    failed_probe_counter: 'int8',
    last_seen_at: nullable('text'),
    probed_at: 'text',
    ports: json<readonly Readonly<{ port: number; outcome: string }>[]>(),
    status_answer: 'text',
    services: json<readonly string[]>(),
    version: nullable('text'),
    peer_count: nullable('int8'),
    cpu_cores: nullable('int8'),
    cpu_usage_percent: nullable('float8'),
    memory_total_gb: nullable('float8'),
    memory_used_gb: nullable('float8'),
    storage_total_gb: nullable('float8'),
    storage_used_gb: nullable('float8'),
    uptime_seconds: nullable('float8'),
  },
  key: ['id'],
});
