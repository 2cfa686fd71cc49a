/** A SuperNode as it is to be known. */
export function nodeOf(record) {
  const state = latest(record.states);
  const { address } = latest(record.prev_ip_addresses);
  const accounts = record.prev_supernode_accounts
    .map(({ account, height }) => ({ account, height: Number(height) }))
    .toSorted((a, b) => a.height - b.height);
  return {
    id: record.validator_address,
    state: state.state.replace('SUPERNODE_STATE_', '').toLowerCase(),
    state_height: Number(state.height),
    state_reason: state.reason,
    address,
    ip: address.replace(/:\d+$/, ''),
    account: record.supernode_account,
    accounts,
    note: record.note,
    p2p_port: record.p2p_port,
    registered_height: Number(record.states[0].height),
  };
}

/** A validator as far as it counts. */
export function validatorOf({ operator_address, description, status, jailed }) {
  return {
    id: operator_address,
    moniker: description.moniker,
    status: status.replace('BOND_STATUS_', '').toLowerCase(),
    jailed,
  };
}

/** Whose account it was at a height. */
export function operatorAt(nodes, account, height) {
  const owners = nodes.filter(
    ({ accounts }) => accounts.findLast((since) => since.height <= height)?.account === account,
  );
  if (owners.length !== 1) throw new Error(`${account} belonged to ${owners.length} operators at height ${height}`);
  return owners[0].id;
}

function latest(entries) {
  return entries.reduce((best, entry) => (Number(entry.height) >= Number(best.height) ? entry : best));
}
