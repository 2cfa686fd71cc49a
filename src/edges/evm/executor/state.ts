import type { Common } from '@ethereumjs/common';
import { createMPT } from '@ethereumjs/mpt';
import { Caches, MerkleStateManager } from '@ethereumjs/statemanager';
import { type Account, type Address, ValueEncoding } from '@ethereumjs/util';
import type { TrieDb } from './node-store.ts';

/** An account that something changed, as it is afterwards. */
export type TouchedAccount = Readonly<{ address: string; balance: bigint; nonce: bigint }>;

/** The state of all accounts, which notes whom it is told to change. */
export class State extends MerkleStateManager {
  #touched = new Map<string, Address>();

  override async putAccount(address: Address, account: Account | undefined): Promise<void> {
    this.#touched.set(address.toString(), address);
    await super.putAccount(address, account);
  }

  override async deleteAccount(address: Address): Promise<void> {
    this.#touched.set(address.toString(), address);
    await super.deleteAccount(address);
  }

  /** The accounts touched since the last time, in the order of their first change. */
  async takeTouched(): Promise<readonly TouchedAccount[]> {
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

/** Opens a state over tries in a database; it stands at the empty root. */
export async function openState(db: TrieDb, common: Common): Promise<State> {
  const trie = await createMPT({
    db,
    common,
    useKeyHashing: true,
    useNodePruning: false,
    valueEncoding: ValueEncoding.Bytes,
  });
  return new State({ common, trie, caches: new Caches() });
}
