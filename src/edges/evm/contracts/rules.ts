import { type Address, createAddressFromString } from '@ethereumjs/util';
import type { Account, Action, ChainState, Genesis, SuperNode } from '../../../commands/ledger/chain.ts';
import { Draft } from '../../../commands/ledger/draft.ts';
import { TransactionFailed } from '../../../commands/ledger/failure.ts';
import { actionIn, nodeIn, recordsOf, talliesIn } from '../../../commands/ledger/records.ts';
import { evmAddress } from '../../cosmos/addresses.ts';
import type { State } from '../executor/state.ts';
import { readNodeIds, readRecord, writeRecords } from './record-store.ts';

/** Thrown where a rule asks for what was not read yet: it is read, and the rule runs again. */
class NotRead extends Error {
  readonly read: () => Promise<void>;
  constructor(read: () => Promise<void>) {
    super('not read yet');
    this.read = read;
  }
}

/** How often a rule may ask for more; each asks for a handful of rows. */
const mostReads = 10_000;

/**
 * The chain as a state of the virtual machine has it, for rules that read it at once: pure as they are, they run again
 * until all that they read is here.
 */
export class StoredChain {
  readonly genesis: Genesis;
  readonly #state: State;
  readonly #actions = new Map<string, Action | undefined>();
  readonly #nodes = new Map<string, SuperNode | undefined>();
  readonly #accounts = new Map<string, Account | undefined>();
  #operators: readonly string[] | undefined;
  /** Rows that were read. */
  reads = 0;

  constructor(genesis: Genesis, state: State) {
    this.genesis = genesis;
    this.#state = state;
  }

  /** Runs something that reads the chain, as often as it takes. */
  async run<T>(rule: (chain: ChainState) => T): Promise<T> {
    const text = await readRecord(this.#state, 'tallies', '');
    const counted = text === undefined ? { actions: 0, evidence: 0 } : talliesIn(text);
    const chain = this.#chain({ ...counted, accounts: 0 });
    for (; this.reads < mostReads; this.reads += 1) {
      try {
        return rule(chain);
      } catch (caught) {
        if (!(caught instanceof NotRead)) throw caught;
        await caught.read();
      }
    }
    throw new TransactionFailed('gas', 'the call reads more than any may');
  }

  /** Carries a rule out and writes what it changed; its events are told. Answers what it came to. */
  async carryOut(rule: (draft: Draft) => void): Promise<Draft> {
    const draft = await this.run((chain) => {
      const attempt = new Draft(chain);
      attempt.closing = { msg_index: '0' };
      rule(attempt);
      return attempt;
    });
    await writeRecords(this.#state, recordsOf(draft.changes));
    for (const { address, balance } of draft.changes.accounts.values()) {
      await this.#state.modifyAccountFields(addressIn(address), { balance });
    }
    this.#state.tell(draft.events);
    return draft;
  }

  #chain(tallies: ChainState['tallies']): ChainState {
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
    if (!operators)
      throw new NotRead(async () => {
        this.#operators = await readNodeIds(this.#state);
      });
    return operators.flatMap(
      (operator) => known(this.#nodes, operator, async () => await this.#read('node', operator, nodeIn)) ?? [],
    );
  }

  async #read<T>(table: 'action' | 'node', id: string, read: (text: string) => T): Promise<T | undefined> {
    const text = await readRecord(this.#state, table, id);
    return text === undefined ? undefined : read(text);
  }

  async #account(address: string): Promise<Account | undefined> {
    const account = await this.#state.getAccount(addressIn(address));
    return account && { address, number: 0, sequence: Number(account.nonce), balance: account.balance };
  }
}

/** Fails for an account that the virtual machine has no place for: its address has more than 20 bytes. */
function addressIn(account: string): Address {
  const address = evmAddress(account);
  if (address === undefined) throw new TransactionFailed('request', `${account} is no account of 20 bytes`);
  return createAddressFromString(address);
}

function known<T>(found: Map<string, T | undefined>, key: string, read: () => Promise<T | undefined>): T | undefined {
  if (found.has(key)) return found.get(key);
  throw new NotRead(async () => void found.set(key, await read()));
}
