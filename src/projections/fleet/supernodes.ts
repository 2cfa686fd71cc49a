import type { Fact } from '../../events/catalogue.ts';
import type { Derived, Projection } from '../projection.ts';
import type { SuperNodeAccountRow, SuperNodeRow } from '../tables.ts';

type Data = Fact<'SuperNodeListed'>['data'];

/** Every SuperNode of the chain's list, and which account was its own from which height on. */
export const supernodes: Projection<SuperNodeRow, 'SuperNodeListed' | 'SuperNodeChanged' | 'SuperNodeRemoved'> = {
  name: 'supernodes',
  version: 4,
  stream: 'NODES',
  table: {
    name: 'supernodes',
    columns: {
      id: 'text',
      state: 'text',
      state_height: 'int8',
      state_reason: 'text',
      address: 'text',
      account: 'text',
      accounts: 'jsonb',
      note: 'text',
      p2p_port: 'text',
      registered_height: 'int8',
    },
    key: ['id'],
  },
  derivedTables: [
    {
      name: 'supernode_accounts',
      columns: {
        operator: 'text',
        account: 'text',
        from_height: 'int8',
        until_height: 'int8',
        stated_height: 'int8',
      },
      key: ['operator', 'account', 'from_height'],
      indexes: ['account, from_height'],
    },
  ],
  key: ({ data }) => data.node,
  on: {
    SuperNodeListed: (_row, data) => listed(data),
    SuperNodeChanged: (row, data) => {
      if (!row)
        throw new Error(`Cannot change SuperNode ${data.node}: it is not listed, and no decider changes it then`);
      return listed(data);
    },
    SuperNodeRemoved: (row, { node }) => {
      if (!row) throw new Error(`Cannot remove SuperNode ${node}: it is not listed, and no decider removes it then`);
      return null;
    },
  },
  derived: (row) => periods(row).map((values): Derived => ({ table: 'supernode_accounts', values })),
};

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
 * The accounts of an operator as periods that follow one another: it has one at a time, in whatever order they are told.
 *
 * The first reaches back to height 0: before it nothing else is known of the operator. Where another operator is stated to
 * have had the account then, that counts for more (`ownerAt`).
 */
export function periods({ id, account, accounts }: SuperNodeRow): SuperNodeAccountRow[] {
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
