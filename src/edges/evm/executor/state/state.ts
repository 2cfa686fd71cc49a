import type { Common } from '@ethereumjs/common';
import { Caches, type MerkleStateManagerOpts } from '@ethereumjs/statemanager';
import { type Account, type Address, ValueEncoding } from '@ethereumjs/util';
import type { ChainEvent } from '../../../../commands/ledger/draft.ts';
import type { RecordTable } from '../../../../commands/ledger/records.ts';
import { KnowingTrie, type KnownValues, remember, valueName } from '../../../../kit/shims/ethereumjs/known-values.ts';
import { SendingState } from '../../../../kit/shims/ethereumjs/sending-state.ts';
import type { TrieDb } from './node-store.ts';

/** An account that something changed, as it is afterwards. */
export type ChangedAccount = Readonly<{ address: string; balance: bigint; nonce: bigint }>;

/** Is called before each step of some work, with the milliseconds that the step takes where it cannot be ended. */
type Guard = (ms?: number) => void;

/** Names a row of the rules' tables. */
type RecordName = Readonly<{ table: RecordTable; id: string }>;

/** The state of all accounts, which records the accounts that it changes. */
export class State extends SendingState {
  #touched = new Map<string, Address>();
  /** Events of system contracts, undone with their frame: the number of events at the start of each open frame. */
  #told: ChainEvent[] = [];
  readonly #marks: number[] = [];
  #records = new Map<string, RecordName>();
  #guard: Guard | undefined;
  readonly #known: KnownValues;
  readonly #slots: Caches['storage'];

  constructor(options: MerkleStateManagerOpts, known: KnownValues) {
    super(options);
    this.#known = known;
    this.#slots = options.caches?.storage;
  }

  override async checkpoint(): Promise<void> {
    this.#marks.push(this.#told.length);
    await super.checkpoint();
  }

  override async commit(): Promise<void> {
    this.#marks.pop();
    await super.commit();
  }

  override async revert(): Promise<void> {
    this.#told.length = this.#marks.pop() ?? 0;
    await super.revert();
  }

  /** How many checkpoints are open. */
  get depth(): number {
    return this.#marks.length;
  }

  /** Undoes all checkpoints above a depth. */
  async revertTo(depth: number): Promise<void> {
    while (this.depth > depth) await this.revert();
  }

  /** Runs something whose reads of the state, jumps and built-in contracts call `guard` first, which may throw. */
  async guarded<T>(guard: Guard | undefined, run: () => Promise<T>): Promise<T> {
    this.#guard = guard;
    try {
      return await run();
    } finally {
      this.#guard = undefined;
    }
  }

  /** Calls the guard of what runs now, before a step that takes so long; fails as it does. */
  checkGuard(ms?: number): void {
    this.#guard?.(ms);
  }

  /** Records events that a system contract emits. */
  tell(events: readonly ChainEvent[]): void {
    this.#told.push(...events);
  }

  /** Returns the events since the last call, without those that were undone. */
  takeTold(): readonly ChainEvent[] {
    return this.#told.splice(0);
  }

  /** Writes bytes as the code of an account that no key controls. */
  async putRecord(address: Address, bytes: Uint8Array): Promise<void> {
    await this.putCode(address, bytes);
    this.#touched.delete(address.toString());
  }

  noteRecord({ table, id }: RecordName): void {
    this.#records.set(`${table}/${id}`, { table, id });
  }

  /** The rows that were written since the last time, undone ones among them. */
  takeRecords(): readonly RecordName[] {
    const records = [...this.#records.values()];
    this.#records = new Map();
    return records;
  }

  override async getAccount(address: Address): Promise<Account | undefined> {
    this.#guard?.();
    return await super.getAccount(address);
  }

  override async getStorage(address: Address, key: Uint8Array): Promise<Uint8Array> {
    this.#guard?.();
    const cache = this.#slots;
    const isCached = cache === undefined || cache.get(address, key) !== undefined;
    const account = isCached ? undefined : await super.getAccount(address);
    if (!cache || !account) return await super.getStorage(address, key);
    const name = valueName(account.storageRoot, key);
    const known = this.#known.get(name)?.value;
    if (known) cache.put(address, key, known);
    const value = await super.getStorage(address, key);
    if (!known) remember(this.#known, name, cache.get(address, key) ?? null);
    return value;
  }

  override async getCode(address: Address): Promise<Uint8Array> {
    this.#guard?.();
    return await super.getCode(address);
  }

  override async putAccount(address: Address, account: Account | undefined): Promise<void> {
    this.#touched.set(address.toString(), address);
    await super.putAccount(address, account);
  }

  override async deleteAccount(address: Address): Promise<void> {
    this.#touched.set(address.toString(), address);
    await super.deleteAccount(address);
  }

  /** The accounts touched since the last time, in the order of their first change. */
  async takeTouched(): Promise<readonly ChangedAccount[]> {
    const touched = [...this.#touched.values()];
    this.#touched = new Map();
    return await Promise.all(
      touched.map(async (address) => {
        const account = await this.getAccount(address);
        return { address: address.toString(), balance: account?.balance ?? 0n, nonce: account?.nonce ?? 0n };
      }),
    );
  }
}

/** Opens a state over tries in a database, at the empty root. */
export function openState(db: TrieDb, common: Common): State {
  const known = db.known;
  const options = { db, common, useKeyHashing: true, useNodePruning: false, valueEncoding: ValueEncoding.Bytes };
  return new State({ common, trie: new KnowingTrie(options, known), caches: new Caches() }, known);
}
