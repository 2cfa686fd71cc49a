import { accountOf, type ChainState } from './chain-stub-state.ts';
import type { Random } from '../histories/random-history.ts';

type Json = { [field: string]: unknown };
type Held = { account: string; height: string };

const names = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta'] as const;
const nodeStates = ['ACTIVE', 'STOPPED', 'POSTPONED', 'STORAGE_FULL'] as const;
const bonds = ['BOND_STATUS_BONDED', 'BOND_STATUS_UNBONDING', 'BOND_STATUS_UNBONDED'] as const;
/** Until an action expires, in seconds of the chain, whose blocks take five. */
const patience = [20, 120, 90_000] as const;

/**
 * Makes a chain live on by a seed: each call adds a block in which anything may happen.
 *
 * Actions are registered (several in one transaction), finalized soon, late or never, alone or together, rejected and
 * approved; SuperNodes change state, address and account, leave and come back; validators are jailed, renamed and
 * leave. A block is added in one go, so that no reader ever sees half of one.
 */
export class GrowingChain {
  readonly #chain: ChainState;
  readonly #random: Random;
  readonly #subnet: string;
  readonly #gone: { list: Map<string, Json>; key: string; record: Json }[] = [];
  #registered = 0;

  /** `subnet`: the first three numbers of all addresses that nodes have. */
  constructor(chain: ChainState, random: Random, subnet = '192.0.2') {
    this.#chain = chain;
    this.#random = random;
    this.#subnet = subnet;
    for (const [at, name] of names.entries()) {
      const height = String(chain.height);
      chain.addSuperNode(name, { prev_ip_addresses: [{ address: `${subnet}.${1 + at}:4444`, height }] });
      chain.addValidator(name);
    }
    chain.block();
  }

  /** Adds a block. */
  grow(): void {
    const { chance } = this.#random;
    this.#chain.block();
    if (chance(0.2)) this.#changeNode();
    if (chance(0.2)) this.#changeValidator();
    if (chance(0.1)) this.#leaveOrReturn();
    if (chance(0.5)) this.#finalize();
    if (chance(0.3)) this.#approve();
    if (chance(0.7)) this.#register();
  }

  #register(): void {
    const { below, pick, chance } = this.#random;
    const asked = Array.from({ length: 1 + below(3) }, () => {
      this.#registered += 1;
      const kind = chance(0.3) ? ('SENSE' as const) : ('CASCADE' as const);
      return { kind, dataHash: `hash ${this.#registered}`, price: 100 + below(9_000), seconds: pick(patience) };
    });
    this.#chain.register(...asked);
  }

  /** One or two actions in one transaction, now and then after a rejected try. */
  #finalize(): void {
    const { pick, chance, below } = this.#random;
    const [node] = this.#some([...this.#chain.supernodes.values()], 1);
    const [first, ...more] = this.#some(this.#in('PENDING'), chance(0.4) ? 2 : 1);
    if (node === undefined || first === undefined) return;
    const account = String(node['supernode_account']);
    if (chance(0.2)) this.#chain.rejectFinalization(account, first);
    if (chance(0.1)) return;
    const paid = [first, ...more].map((id) => ({ id, amount: pick([50, 1_000, 9_999]) + below(50) }));
    this.#chain.finalize(account, ...paid);
  }

  #approve(): void {
    const [id] = this.#some(this.#in('DONE'), 1);
    if (id !== undefined) this.#chain.approve(id);
  }

  #changeNode(): void {
    const { pick, below } = this.#random;
    const [node] = this.#some([...this.#chain.supernodes.values()], 1);
    if (node === undefined) return;
    const height = String(this.#chain.height);
    const add = (field: string, entry: Json): void => void (node[field] = [...(node[field] as Json[]), entry]);
    const change = below(3);
    if (change === 0) add('states', { state: `SUPERNODE_STATE_${pick(nodeStates)}`, height, reason: `at ${height}` });
    if (change === 1) add('prev_ip_addresses', { address: `${this.#subnet}.${1 + below(10)}:4444`, height });
    if (change !== 2) return;
    const held: Held = { account: accountOf(`${String(node['validator_address'])} ${height}`), height };
    add('prev_supernode_accounts', held);
    node['supernode_account'] = held.account;
  }

  #changeValidator(): void {
    const { pick, below, chance } = this.#random;
    const [validator] = this.#some([...this.#chain.validators.values()], 1);
    if (validator === undefined) return;
    const changes: readonly [Json, Json, Json] = [
      { jailed: chance(0.5) },
      { status: pick(bonds) },
      { description: { moniker: `moniker ${below(99)}` } },
    ];
    Object.assign(validator, pick<Json>(changes));
  }

  #leaveOrReturn(): void {
    const { chance } = this.#random;
    const back = chance(0.5) ? this.#gone.shift() : undefined;
    if (back) return void back.list.set(back.key, back.record);
    const list = chance(0.5) ? this.#chain.supernodes : this.#chain.validators;
    const [left] = this.#some([...list], list.size > 3 ? 1 : 0);
    if (left === undefined) return;
    const [key, record] = left;
    list.delete(key);
    this.#gone.push({ list, key, record });
  }

  /** Ids of the actions in a state. */
  #in(state: string): string[] {
    const actions = [...this.#chain.at(this.#chain.height).actions];
    return actions.filter(([, { state: is }]) => is === `ACTION_STATE_${state}`).map(([id]) => id);
  }

  #some<T>(from: readonly T[], count: number): T[] {
    const left = [...from];
    const take = (): T[] => left.splice(this.#random.below(left.length), 1);
    return Array.from({ length: Math.min(count, left.length) }, take).flat();
  }
}
