import type { BlockContext, NodeState, SuperNode } from './chain.ts';
import type { Draft } from './draft.ts';
import { TransactionFailed } from './failure.ts';
import type { MessageOf } from './messages.ts';

type Register = MessageOf<'/lumera.supernode.v1.MsgRegisterSupernode'>;
type Update = MessageOf<'/lumera.supernode.v1.MsgUpdateSupernode'>;
type Stop = MessageOf<'/lumera.supernode.v1.MsgStopSupernode'>;
type Start = MessageOf<'/lumera.supernode.v1.MsgStartSupernode'>;
type Deregister = MessageOf<'/lumera.supernode.v1.MsgDeregisterSupernode'>;

/** Characters of each text of a node at most, and entries of each of its histories: the latest remain. */
const longest = { ipAddress: 256, supernodeAccount: 128, p2p_port: 32, note: 1_024, reason: 1_024 } as const;
const mostEntries = 256;

/** Registers the SuperNode of a validator; a removed node may register again. */
export function registerNode(draft: Draft, message: Register, { height }: BlockContext): void {
  const operator = message.validatorAddress;
  requireOperator(message);
  requireShort(message);
  if (!draft.state.genesis.validators.some((validator) => validator.operator === operator)) {
    throw new TransactionFailed('request', `validator ${operator} not found`);
  }
  requireFreeAccount(draft, message.supernodeAccount, operator);
  const known = draft.node(operator);
  if (known !== undefined && currentState(known) !== 'SUPERNODE_STATE_DISABLED') {
    throw new TransactionFailed('request', `supernode already exists for validator ${operator}`);
  }
  const p2pPort = message.p2p_port || '4445';
  draft.putNode({
    operator,
    account: message.supernodeAccount,
    states: latest(known?.states, { state: 'SUPERNODE_STATE_ACTIVE', height }),
    addresses: latest(known?.addresses, { address: message.ipAddress, height }),
    accounts: latest(known?.accounts, { account: message.supernodeAccount, height }),
    note: known?.note ?? '1.0.0',
    p2pPort,
  });
  draft.emit('supernode_registered', {
    validator_address: operator,
    ip_address: message.ipAddress,
    supernode_account: message.supernodeAccount,
    p2p_port: p2pPort,
    height: String(height),
  });
}

/** Changes address, note, account or P2P port of a SuperNode; the event names what was changed, from and to. */
export function updateNode(draft: Draft, message: Update, { height }: BlockContext): void {
  const node = ownNode(draft, message);
  requireShort(message);
  const account =
    message.supernodeAccount !== '' && message.supernodeAccount !== node.account ? message.supernodeAccount : '';
  const address = message.ipAddress;
  const p2pPort = message.p2p_port !== node.p2pPort ? message.p2p_port : '';
  if (account !== '') requireFreeAccount(draft, account, node.operator);
  const updated = { ip_address: address, note: message.note, supernode_account: account, p2p_port: p2pPort };
  draft.putNode({
    ...node,
    account: account || node.account,
    note: message.note || node.note,
    p2pPort: p2pPort || node.p2pPort,
    addresses: address === '' ? node.addresses : latest(node.addresses, { address, height }),
    accounts: account === '' ? node.accounts : latest(node.accounts, { account, height }),
  });
  const fields = Object.entries(updated).filter(([, value]) => value !== '');
  draft.emit('supernode_updated', {
    validator_address: node.operator,
    fields_updated: fields.map(([name]) => name).join(','),
    height: String(height),
    ...(account !== '' && { old_account: node.account, new_account: account }),
    ...(p2pPort !== '' && { old_p2p_port: node.p2pPort, p2p_port: p2pPort }),
    ...(address !== '' && { old_ip_address: node.addresses.at(-1)?.address ?? '', ip_address: address }),
  });
}

/** Takes a SuperNode out of service until it is started again. */
export function stopNode(draft: Draft, message: Stop, block: BlockContext): void {
  const node = ownNode(draft, message);
  if (currentState(node) === 'SUPERNODE_STATE_STOPPED')
    throw new TransactionFailed('request', 'supernode is already stopped');
  requireShort(message);
  const before = enter(draft, node, 'SUPERNODE_STATE_STOPPED', block);
  const { reason } = message;
  draft.emit('supernode_stopped', {
    validator_address: node.operator,
    reason,
    old_state: before,
    height: String(block.height),
  });
}

/** Puts a stopped SuperNode into service again. */
export function startNode(draft: Draft, message: Start, block: BlockContext): void {
  const node = ownNode(draft, message);
  if (currentState(node) === 'SUPERNODE_STATE_ACTIVE')
    throw new TransactionFailed('request', 'supernode is already started');
  const before = enter(draft, node, 'SUPERNODE_STATE_ACTIVE', block);
  draft.emit('supernode_started', {
    validator_address: node.operator,
    old_state: before,
    height: String(block.height),
    reason: 'tx_start',
  });
}

/** Takes a SuperNode off the list for good, until it is registered again; its record stays. */
export function deregisterNode(draft: Draft, message: Deregister, block: BlockContext): void {
  const node = ownNode(draft, message);
  const before = enter(draft, node, 'SUPERNODE_STATE_DISABLED', block);
  draft.emit('supernode_deregistered', {
    validator_address: node.operator,
    old_state: before,
    height: String(block.height),
  });
}

function enter(draft: Draft, node: SuperNode, state: NodeState, { height }: BlockContext): NodeState {
  draft.putNode({ ...node, states: latest(node.states, { state, height }) });
  return currentState(node);
}

function currentState(node: SuperNode): NodeState {
  return node.states.at(-1)?.state ?? 'SUPERNODE_STATE_DISABLED';
}

function ownNode(draft: Draft, message: { creator: string; validatorAddress: string }): SuperNode {
  requireOperator(message);
  const node = draft.node(message.validatorAddress);
  if (node === undefined)
    throw new TransactionFailed('request', `supernode not found for validator ${message.validatorAddress}`);
  return node;
}

function latest<T>(entries: readonly T[] = [], entry: T): readonly T[] {
  return [...entries.slice(1 - mostEntries), entry];
}

function requireShort(message: Partial<Record<keyof typeof longest, string>>): void {
  for (const [name, most] of Object.entries(longest)) {
    const value = message[name as keyof typeof longest] ?? '';
    if (value.length > most) throw new TransactionFailed('request', `${name} has more than ${most} characters`);
  }
}

/** An operator and its account are the same bytes under two prefixes: the texts agree between prefix and checksum. */
function requireOperator({ creator, validatorAddress }: { creator: string; validatorAddress: string }): void {
  const bytesOf = (address: string) => address.slice(address.lastIndexOf('1') + 1, -6);
  if (bytesOf(creator) !== bytesOf(validatorAddress))
    throw new TransactionFailed('request', `${creator} is not the operator of ${validatorAddress}`);
}

function requireFreeAccount(draft: Draft, account: string, operator: string): void {
  const accepted = draft.nodes().find((node) => node.account === account && node.operator !== operator);
  if (accepted !== undefined)
    throw new TransactionFailed('request', `supernode account ${account} belongs to ${accepted.operator}`);
}
