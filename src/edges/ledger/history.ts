import {
  type Account,
  type Action,
  type LedgerState,
  type Changes,
  type Genesis,
  isOpen,
  type SuperNode,
  type Tallies,
} from '../../commands/ledger/chain.ts';
import { genesisState } from '../../commands/ledger/genesis.ts';
import { operatorKey } from '../chain/sign/addresses.ts';

type Version<T> = Readonly<{ height: number; value: T }>;

/** Everything that a thing has been, by the height at which it became so. */
class Versions<T> {
  readonly #all = new Map<string, Version<T>[]>();

  set(key: string, height: number, value: T): void {
    const versions = this.#all.get(key) ?? [];
    if (versions.at(-1)?.height === height) versions.pop();
    versions.push({ height, value });
    this.#all.set(key, versions);
  }

  has(key: string): boolean {
    return this.#all.has(key);
  }

  /** Drops what no height from this one on shows. */
  forgetBefore(height: number): void {
    for (const versions of this.#all.values()) {
      const from = versions.findLastIndex((version) => version.height <= height);
      if (from > 0) versions.splice(0, from);
    }
  }

  entries(): [string, readonly Version<T>[]][] {
    return [...this.#all];
  }

  restore(entries: Iterable<readonly [string, readonly Version<T>[]]>): void {
    for (const [key, versions] of entries) this.#all.set(key, [...versions]);
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
 * The state of the chain, and the actions and SuperNodes at every height before; of accounts it has only the current
 * state.
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
  get state(): LedgerState {
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

  /** Drops what the chain was before a height, but for what that height still shows. */
  forgetBefore(height: number): void {
    this.#actions.forgetBefore(height);
    this.#nodes.forgetBefore(height);
  }

  /** All that is known, as text that `restore` reads. */
  text(): string {
    return JSON.stringify(
      {
        tallies: this.#tallies,
        actions: this.#actions.entries(),
        nodes: this.#nodes.entries(),
        accounts: [...this.#accounts.values()],
        registered: this.#registered,
      },
      (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
    );
  }

  /** Replaces the known state; Annals wrote the text itself, so it is not validated. */
  restore(text: string): void {
    const { tallies, actions, nodes, accounts, registered } = JSON.parse(text) as StoredHistory;
    this.#tallies = tallies;
    this.#actions.restore(actions.map(([id, versions]) => [id, versions.map(actionVersion)]));
    this.#nodes.restore(nodes);
    for (const account of accounts)
      this.#accounts.set(account.address, { ...account, balance: BigInt(account.balance) });
    this.#registered.push(...registered);
    this.#actionIds.push(...registered.map(({ id }) => id).toSorted(byText));
    this.#operators = nodes.map(([operator]) => operator).toSorted(byKey);
    for (const { id } of registered) {
      const action = this.#actions.at(id, Number.MAX_SAFE_INTEGER);
      if (action && isOpen(action)) this.#open.set(id, action);
    }
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
      this.#actionIds.splice(positionOf(this.#actionIds, action.id), 0, action.id);
      this.#registered.push({ id: action.id, creator: action.creator });
    }
    this.#actions.set(action.id, height, action);
    if (isOpen(action)) this.#open.set(action.id, action);
    else this.#open.delete(action.id);
  }

  #applyNode(height: number, node: SuperNode): void {
    if (!this.#nodes.has(node.operator)) {
      this.#operators = [...this.#operators, node.operator].toSorted(byKey);
    }
    this.#nodes.set(node.operator, height, node);
  }
}

type Stored<T, K extends keyof T> = Omit<T, K> & Readonly<Record<K, string>>;
type StoredAction = Version<Stored<Action, 'price'>>;
type StoredHistory = Readonly<{
  tallies: Tallies;
  actions: readonly (readonly [string, readonly StoredAction[]])[];
  nodes: readonly (readonly [string, readonly Version<SuperNode>[]])[];
  accounts: readonly Stored<Account, 'balance'>[];
  registered: readonly Readonly<{ id: string; creator: string }>[];
}>;

function actionVersion({ height, value }: StoredAction): Version<Action> {
  return { height, value: { ...value, price: BigInt(value.price) } };
}

const byKey = (a: string, b: string): number => operatorKey(a).compare(operatorKey(b));
const byText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** Where a text belongs in a sorted list. */
function positionOf(sorted: readonly string[], text: string): number {
  let from = 0;
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((sorted[middle] ?? '') < text) from = middle + 1;
    else to = middle;
  }
  return from;
}
