import type { Account, Action, LedgerState, Changes, SuperNode, Tallies } from './chain.ts';
import { alumeOf } from './coins.ts';
import { TransactionFailed } from './failure.ts';

/** One event of a transaction or of the end of a block, as it lies in the log. */
export type ChainEvent = Readonly<{ type: string; attributes: readonly Readonly<{ key: string; value: string }>[] }>;

/**
 * The state of one transaction while its rules run: it reads its own writes, and collects changes and events.
 *
 * A mutable builder: it lives as long as one transaction, and the state under it is never touched.
 */
export class Draft {
  readonly state: LedgerState;
  tallies: Tallies;
  readonly events: ChainEvent[] = [];
  readonly #actions = new Map<string, Action>();
  readonly #nodes = new Map<string, SuperNode>();
  readonly #accounts = new Map<string, Account>();
  /** Closes every event: `msg_index` of a message, `mode` at the end of a block. */
  closing: Readonly<Record<string, string>> = {};

  constructor(state: LedgerState) {
    this.state = state;
    this.tallies = state.tallies;
  }

  get changes(): Changes {
    return { tallies: this.tallies, actions: this.#actions, nodes: this.#nodes, accounts: this.#accounts };
  }

  action(id: string): Action | undefined {
    return this.#actions.get(id) ?? this.state.action(id);
  }

  node(operator: string): SuperNode | undefined {
    return this.#nodes.get(operator) ?? this.state.node(operator);
  }

  nodes(): SuperNode[] {
    return [...this.state.nodes()].filter((node) => !this.#nodes.has(node.operator)).concat(...this.#nodes.values());
  }

  account(address: string): Account | undefined {
    return this.#accounts.get(address) ?? this.state.account(address);
  }

  putAction(action: Action): void {
    this.#actions.set(action.id, action);
  }

  putNode(node: SuperNode): void {
    this.#nodes.set(node.operator, node);
  }

  putAccount(account: Account): void {
    this.#accounts.set(account.address, account);
  }

  /** The next number of what is counted. */
  count(what: keyof Tallies, by = 1): number {
    this.tallies = { ...this.tallies, [what]: this.tallies[what] + by };
    return this.tallies[what];
  }

  emit(type: string, attributes: Readonly<Record<string, string>>): void {
    const all = Object.entries({ ...attributes, ...this.closing });
    this.events.push({ type, attributes: all.map(([key, value]) => ({ key, value })) });
  }

  /** Transfers ulume and emits the events of the chain's bank; a recipient without an account gets one. */
  pay(sender: string, recipient: string, amount: bigint): void {
    const from = this.account(sender);
    const coins = `${amount}${this.state.genesis.params.denom}`;
    const advanced = alumeOf(amount);
    if (from === undefined || from.balance < advanced)
      throw new TransactionFailed('funds', `spendable balance is smaller than ${coins}`);
    this.putAccount({ ...from, balance: from.balance - advanced });
    const to = this.account(recipient) ?? this.#newAccount(recipient);
    this.putAccount({ ...to, balance: to.balance + advanced });
    this.emit('coin_spent', { spender: sender, amount: coins });
    this.emit('coin_received', { receiver: recipient, amount: coins });
    this.emit('transfer', { recipient, sender, amount: coins });
    this.emit('message', { sender });
  }

  #newAccount(address: string): Account {
    return { address, number: this.count('accounts') - 1, sequence: 0, balance: 0n };
  }
}
