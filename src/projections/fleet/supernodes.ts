import type { Fact } from '../../events/catalogue.ts';
import { defineProjection, ignoring } from '../projection.ts';
import { supernodeAccounts, supernodeTable } from './fleet-tables.ts';
import type { SuperNodeAccountRow, SuperNodeRow } from '../tables.ts';

type Data = Fact<'SuperNodeListed'>['data'];

/** Every SuperNode of the chain's list, and which account was its own from which height on. */
export const supernodes = defineProjection({
  name: 'supernodes',
  version: 5,
  stream: 'NODES',
  table: supernodeTable,
  derivedTables: [supernodeAccounts],
  on: {
    SuperNodeListed: (data) => [{ key: data.node, next: () => listed(data) }],
    SuperNodeChanged: (data) => [{ key: data.node, next: (row) => changed(row, data) }],
    SuperNodeRemoved: ({ node }) => [{ key: node, next: (row) => removed(row, node) }],
    ...ignoring('validator'),
  },
  derived: (row) => periods(row).map((values) => ({ table: 'supernode_accounts' as const, values })),
});

function changed(row: SuperNodeRow | undefined, data: Data): SuperNodeRow {
  if (!row) throw new Error(`Cannot change SuperNode ${data.node}: it is not listed, and no decider changes it then`);
  return listed(data);
}

function removed(row: SuperNodeRow | undefined, node: string): null {
  if (!row) throw new Error(`Cannot remove SuperNode ${node}: it is not listed, and no decider removes it then`);
  return null;
}

function listed({ node, record }: Data): SuperNodeRow {
  return {
    id: node,
    state: record.state,
    state_height: record.stateHeight ?? null,
    state_reason: record.stateReason,
    address: record.address,
    account: record.account,
    accounts: record.accounts.map(({ account, height }) => ({ account, height })),
    note: record.note,
    p2p_port: record.p2pPort,
    registered_height: record.registeredHeight ?? null,
  };
}

/**
 * The accounts of an operator as consecutive periods: it has one at a time, in whatever order the chain lists them.
 *
 * The first reaches back to height 0, because no earlier account of the operator is known. Where the chain states that
 * another operator had the account then, that claim wins (`ownerAt`).
 */
export function periods({
  id,
  account,
  accounts,
}: Pick<SuperNodeRow, 'id' | 'account' | 'accounts'>): SuperNodeAccountRow[] {
  const history = accounts.length > 0 ? accounts.toSorted((a, b) => a.height - b.height) : [{ account, height: 0 }];
  return history
    .map((entry, at) => ({
      operator: id,
      account: entry.account,
      from_height: at === 0 ? 0 : entry.height,
      until_height: history[at + 1]?.height ?? null,
      stated_height: entry.height,
    }))
    .filter((period) => period.account !== '' && period.from_height !== period.until_height);
}
