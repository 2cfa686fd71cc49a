import {
  type Account,
  type Action,
  type ChainState,
  type Changes,
  type Genesis,
  isOpen,
  type SuperNode,
  type Tallies,
} from '../../commands/ledger/chain.ts';
import { genesisState } from '../../commands/ledger/genesis.ts';
import { operatorKey } from '../chain/sign/addresses.ts';

/** Everything that a thing has been, by the height at which it became so. */
class Versions<T> {
  readonly #all = new Map<string, { height: number; value: T }[]>();

  set(key: string, height: number, value: T): void {
    const versions = this.#all.get(key) ?? [];
    if (versions.at(-1)?.height === height) versions.pop();
    versions.push({ height, value });
    this.#all.set(key, versions);
  }

  has(key: string): boolean {
    return this.#all.has(key);
  }

  at(key: string, height: number): T | undefined {
    return this.#all.get(key)?.findLast((version) => version.height <= height)?.value;
  }
}

/** The chain as of one height, as its REST answers read it. */
export type ChainView = Readonly<{
  height: number;
  genesis: Genesis;
  action: (id: string) => Action | undefined;
  /** In the order of their keys, which is that of their ids as text. */
  actions: () => Action[];
  node: (operator: string) => SuperNode | undefined;
  /** In the order of their keys, which is that of their address bytes. */
  nodes: () => SuperNode[];
}>;

/**
 * The state of the chain, and what actions and SuperNodes were at every height before; accounts are kept as they are
 * now.
 */
export class History {
  readonly genesis: Genesis;
  readonly #actions = new Versions<Action>();
  readonly #nodes = new Versions<SuperNode>();
  readonly #accounts = new Map<string, Account>();
  readonly #open = new Map<string, Action>();
  /** Sorted as text, the order of the chain's store. */
  readonly #actionIds: string[] = [];
  /** In the order of registration. */
  readonly #registered: Readonly<{ id: string; creator: string }>[] = [];
  #operators: string[] = [];
  #tallies: Tallies;

  constructor(genesis: Genesis) {
    this.genesis = genesis;
    const start = genesisState(genesis);
    this.#tallies = start.tallies;
    const addresses = [...Object.values(genesis.modules), ...genesis.accounts.map(({ address }) => address)];
    for (const account of addresses.map(start.account)) if (account) this.#accounts.set(account.address, account);
  }

  /** The chain as it is now, for the rules. */
  get state(): ChainState {
    const latest = Number.MAX_SAFE_INTEGER;
    return {
      genesis: this.genesis,
      tallies: this.#tallies,
      action: (id) => this.#actions.at(id, latest),
      openActions: () => this.#open.values(),
      node: (operator) => this.#nodes.at(operator, latest),
      nodes: () => this.view(latest).nodes(),
      account: (address) => this.#accounts.get(address),
    };
  }

  /** The chain as it was when the block of a height was sealed. */
  view(height: number): ChainView {
    return {
      height,
      genesis: this.genesis,
      action: (id) => this.#actions.at(id, height),
      actions: () => this.#actionIds.flatMap((id) => this.#actions.at(id, height) ?? []),
      node: (operator) => this.#nodes.at(operator, height),
      nodes: () => this.#operators.flatMap((operator) => this.#nodes.at(operator, height) ?? []),
    };
  }

  /** Ids of the actions that any of some accounts registered, in the order of registration. */
  registeredBy(creators: ReadonlySet<string>): readonly string[] {
    return this.#registered.filter(({ creator }) => creators.has(creator)).map(({ id }) => id);
  }

  account(address: string): Account | undefined {
    return this.#accounts.get(address);
  }

  apply(height: number, changes: Changes): void {
    this.#tallies = changes.tallies;
    for (const action of changes.actions.values()) this.#applyAction(height, action);
    for (const node of changes.nodes.values()) this.#applyNode(height, node);
    for (const account of changes.accounts.values()) this.#accounts.set(account.address, account);
  }

  #applyAction(height: number, action: Action): void {
    if (!this.#actions.has(action.id)) {
      this.#actionIds.splice(placeOf(this.#actionIds, action.id), 0, action.id);
      this.#registered.push({ id: action.id, creator: action.creator });
    }
    this.#actions.set(action.id, height, action);
    if (isOpen(action)) this.#open.set(action.id, action);
    else this.#open.delete(action.id);
  }

  #applyNode(height: number, node: SuperNode): void {
    if (!this.#nodes.has(node.operator)) {
      this.#operators = [...this.#operators, node.operator].toSorted((a, b) => operatorKey(a).compare(operatorKey(b)));
    }
    this.#nodes.set(node.operator, height, node);
  }
}

/** Where a text belongs in a sorted list. */
function placeOf(sorted: readonly string[], text: string): number {
  let from = 0;
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((sorted[middle] ?? '') < text) from = middle + 1;
    else to = middle;
  }
  return from;
}
