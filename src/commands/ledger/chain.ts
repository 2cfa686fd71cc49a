import type { LedgerActionType, Metadata } from './metadata.ts';

/** The states of an action on this chain; the wire knows more, which nothing here ever reaches. */
export type LedgerActionState =
  'ACTION_STATE_PENDING' | 'ACTION_STATE_DONE' | 'ACTION_STATE_APPROVED' | 'ACTION_STATE_EXPIRED';

/** States that a SuperNode of this chain can be in. */
export type NodeState = 'SUPERNODE_STATE_ACTIVE' | 'SUPERNODE_STATE_DISABLED' | 'SUPERNODE_STATE_STOPPED';

/** An action; ids count from 1 without a gap. */
export type Action = Readonly<{
  id: string;
  creator: string;
  type: LedgerActionType;
  /** A finalized Sense action has none. */
  metadata: Metadata | null;
  /** In the chain's denomination. */
  price: bigint;
  /** Unix seconds. */
  expirationTime: number;
  state: LedgerActionState;
  /** Of the registration; never changes. */
  height: number;
  /** Accounts that finalized it. */
  superNodes: readonly string[];
  fileSizeKbs: number;
}>;

/** A SuperNode with the histories of its state, address and account, oldest first. */
export type SuperNode = Readonly<{
  operator: string;
  account: string;
  states: readonly Readonly<{ state: NodeState; height: number }>[];
  addresses: readonly Readonly<{ address: string; height: number }>[];
  accounts: readonly Readonly<{ account: string; height: number }>[];
  note: string;
  p2pPort: string;
}>;

/** The two kinds of keys that accounts have: they differ in digest and in address. */
export type KeyType = 'secp256k1' | 'eth_secp256k1';

/** A public key: 33 bytes, compressed, as base64. */
export type PublicKey = Readonly<{ type: KeyType; key: string }>;

/** An account; its public key is known from its first transaction on. */
export type Account = Readonly<{
  address: string;
  number: number;
  sequence: number;
  /** In alume (18 decimals). */
  balance: bigint;
  publicKey?: PublicKey;
}>;

/** How many there are so far of what is counted. */
export type Tallies = Readonly<{ actions: number; accounts: number; evidence: number }>;

/** A validator; none of this chain's transactions changes one. */
export type Validator = Readonly<{
  operator: string;
  /** Base64 of an ed25519 key. */
  consensusKey: string;
  moniker: string;
  tokens: string;
  isJailed: boolean;
}>;

/** The parameters that the rules read; amounts as decimal text, durations in seconds. */
export type Params = Readonly<{
  denom: string;
  baseActionFee: string;
  feePerKbyte: string;
  expirationSeconds: number;
  maxRaptorQSymbols: number;
  maxDdAndFingerprints: number;
  maxActionsPerBlock: number;
  /** Of every fee, for the pool of the node module. */
  poolShareBps: number;
  minimumStake: string;
}>;

/** Addresses of the accounts that belong to modules. */
export type Modules = Readonly<{ action: string; supernode: string; feeCollector: string }>;

/** Of the chains that this program runs. */
export const contractsEdition = 2;

/** The chain before its first block; stored in the log as JSON text. */
export type Genesis = Readonly<{
  params: Params;
  modules: Modules;
  accounts: readonly Readonly<{ address: string; balance: string }>[];
  validators: readonly Validator[];
  /**
   * The edition of what lies with the virtual machine: tables and indexes of the rules, contracts of the forks, and
   * what the system contracts cost. A chain of another edition would execute its blocks to something else.
   */
  contracts: typeof contractsEdition;
}>;

/** The chain as the rules read it. */
export type LedgerState = Readonly<{
  genesis: Genesis;
  tallies: Tallies;
  action: (id: string) => Action | undefined;
  /** Actions that may yet be finalized or expire. */
  openActions: () => Iterable<Action>;
  node: (operator: string) => SuperNode | undefined;
  nodes: () => Iterable<SuperNode>;
  account: (address: string) => Account | undefined;
}>;

/** The changes of the chain by a transaction or the end of a block: the new value of all that changed. */
export type Changes = Readonly<{
  tallies: Tallies;
  actions: ReadonlyMap<string, Action>;
  nodes: ReadonlyMap<string, SuperNode>;
  accounts: ReadonlyMap<string, Account>;
}>;

/** The chain with changes laid over it; nothing is copied. */
export function withChanges(state: LedgerState, changes: Changes): LedgerState {
  return {
    genesis: state.genesis,
    tallies: changes.tallies,
    action: (id) => changes.actions.get(id) ?? state.action(id),
    openActions: () => merged(state.openActions(), changes.actions, (action) => action.id).filter(isOpen),
    node: (operator) => changes.nodes.get(operator) ?? state.node(operator),
    nodes: () => merged(state.nodes(), changes.nodes, (node) => node.operator),
    account: (address) => changes.accounts.get(address) ?? state.account(address),
  };
}

/** Returns whether an action may yet be finalized or expire. */
export function isOpen(action: Action): boolean {
  return action.state === 'ACTION_STATE_PENDING';
}

/** A node's state as of a height; undefined before it was registered. */
export function nodeStateAt(node: SuperNode, height: number): NodeState | undefined {
  return node.states.findLast((entry) => entry.height <= height)?.state;
}

function merged<T>(below: Iterable<T>, above: ReadonlyMap<string, T>, keyOf: (value: T) => string): T[] {
  return [...[...below].filter((value) => !above.has(keyOf(value))), ...above.values()];
}

/** The rules' view of the block that a transaction is in. */
export type BlockContext = Readonly<{
  height: number;
  /** RFC 3339, UTC. */
  time: string;
  /** How far an operator is from a height, as hex that sorts; pure. */
  distance: (height: number, operator: string) => string;
}>;
