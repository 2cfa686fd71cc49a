import { type Address, createAddressFromString } from '@ethereumjs/util';
import type { Account, Action, LedgerState, Genesis, SuperNode } from '../../../commands/ledger/chain.ts';
import { Draft } from '../../../commands/ledger/draft.ts';
import { TransactionFailed } from '../../../commands/ledger/failure.ts';
import { actionIn, nodeIn, recordsOf, talliesIn } from '../../../commands/ledger/records.ts';
import { evmAddress } from '../../chain/sign/addresses.ts';
import type { State } from '../executor/state/state.ts';
import type { ActionKey } from './action-index.ts';
import { gas, type Meter } from './gas.ts';
import { RecordStore } from './record-store.ts';

/** Thrown where a rule needs what was not read yet: it is read, and the rule runs again. */
class NotRead extends Error {
  readonly read: () => Promise<void>;
  constructor(read: () => Promise<void>) {
    super('not read yet');
    this.read = read;
  }
}

/**
 * The chain as a state of the virtual machine has it, for rules that read it at once; each read is paid for before it
 * is made.
 *
 * Rules are pure: one that lacks a row runs again once the row is there. Of single rows it reads a handful, and all
 * nodes come at once, so the number of runs does not depend on how much there is.
 */
export class StoredChain {
  readonly genesis: Genesis;
  readonly #state: State;
  readonly #meter: Meter;
  readonly #store: RecordStore;
  readonly #actions = new Map<string, Action | undefined>();
  readonly #nodes = new Map<string, SuperNode | undefined>();
  readonly #accounts = new Map<string, Account | undefined>();
  #operators: readonly string[] | undefined;

  constructor(genesis: Genesis, state: State, meter: Meter) {
    this.genesis = genesis;
    this.#state = state;
    this.#meter = meter;
    this.#store = new RecordStore(state, meter);
  }

  /** Runs something that reads the chain until all that it reads is here. */
  async run<T>(rule: (chain: LedgerState) => T): Promise<T> {
    const chain = this.#chain({ ...(await this.#tallies()), accounts: 0 });
    for (;;) {
      try {
        return rule(chain);
      } catch (caught) {
        if (!(caught instanceof NotRead)) throw caught;
        await caught.read();
      }
    }
  }

  /** Actions of a key from an offset on, in the order of their ids, and how many there are in all. */
  async listed(
    key: ActionKey,
    { offset, limit }: Readonly<{ offset: bigint; limit: number }>,
  ): Promise<Readonly<{ actions: readonly Action[]; total: bigint }>> {
    const { actions: count } = await this.#tallies();
    const { ids, total } = await this.#store.actionIds(key, { offset, limit, actions: count });
    const actions: Action[] = [];
    for (const id of ids) {
      const action = await this.#read('action', id, actionIn);
      if (action) actions.push(action);
    }
    return { actions, total };
  }

  /** Applies a rule, writes its changes and emits its events. Returns its result. */
  async carryOut(rule: (draft: Draft) => void): Promise<Draft> {
    const draft = await this.run((chain) => {
      const attempt = new Draft(chain);
      attempt.closing = { msg_index: '0' };
      rule(attempt);
      return attempt;
    });
    this.#meter.pay(gas.eventByte * BigInt(Buffer.byteLength(JSON.stringify(draft.events))));
    await this.#store.write(recordsOf(draft.changes));
    for (const { address, balance } of draft.changes.accounts.values()) {
      this.#meter.pay(gas.account);
      await this.#state.modifyAccountFields(addressIn(address), { balance });
    }
    this.#state.tell(draft.events);
    return draft;
  }

  #chain(tallies: LedgerState['tallies']): LedgerState {
    return {
      genesis: this.genesis,
      tallies,
      action: (id) => known(this.#actions, id, async () => await this.#read('action', id, actionIn)),
      openActions: () => [],
      node: (operator) => known(this.#nodes, operator, async () => await this.#read('node', operator, nodeIn)),
      nodes: () => this.#allNodes(),
      account: (address) => known(this.#accounts, address, async () => await this.#account(address)),
    };
  }

  #allNodes(): SuperNode[] {
    const operators = this.#operators;
    if (operators) return operators.flatMap((operator) => this.#nodes.get(operator) ?? []);
    throw new NotRead(async () => {
      const all = await this.#store.nodeIds();
      for (const operator of all)
        if (!this.#nodes.has(operator)) this.#nodes.set(operator, await this.#read('node', operator, nodeIn));
      this.#operators = all;
    });
  }

  async #tallies(): Promise<Readonly<{ actions: number; evidence: number }>> {
    const text = await this.#store.read('tallies', '');
    return text === undefined ? { actions: 0, evidence: 0 } : talliesIn(text);
  }

  async #read<T>(table: 'action' | 'node', id: string, read: (text: string) => T): Promise<T | undefined> {
    const text = await this.#store.read(table, id);
    return text === undefined ? undefined : read(text);
  }

  async #account(address: string): Promise<Account | undefined> {
    this.#meter.pay(gas.row);
    const account = await this.#state.getAccount(addressIn(address));
    return account && { address, number: 0, sequence: Number(account.nonce), balance: account.balance };
  }
}

/** Fails for an account that the virtual machine cannot represent: its address has more than 20 bytes. */
function addressIn(account: string): Address {
  const address = evmAddress(account);
  if (address === undefined) throw new TransactionFailed('request', `${account} is no account of 20 bytes`);
  return createAddressFromString(address);
}

function known<T>(match: Map<string, T | undefined>, key: string, read: () => Promise<T | undefined>): T | undefined {
  if (match.has(key)) return match.get(key);
  throw new NotRead(async () => void match.set(key, await read()));
}
