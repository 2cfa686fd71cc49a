/** @ethereumjs/statemanager 10.1.3 writes what changed into the tries one by one, and what was only read as well. */
import { RLP } from '@ethereumjs/rlp';
import { CODEHASH_PREFIX, MerkleStateManager } from '@ethereumjs/statemanager';
import { Account, type Address, concatBytes, createAddressFromString, hexToBytes, unpadBytes } from '@ethereumjs/util';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { AwaitedState } from './awaited-state.ts';
import { type Change, putAll } from './put-all.ts';

type StorageTrieOf = MerkleStateManager['_getStorageTrie'];

const storageTrieOf = Reflect.get(MerkleStateManager.prototype, '_getStorageTrie') as StorageTrieOf;

/** A state that writes the slots of each contract, and then all accounts, into their tries at once. */
export class FlushedState extends AwaitedState {
  /** The library means to write a slot to the cache alone, and writes it to the trie as well, the way to its root. */
  override async putStorage(address: Address, key: Uint8Array, value: Uint8Array): Promise<void> {
    const { _caches: caches } = this;
    const slots = caches?.storage;
    const account = slots && key.length === 32 && value.length <= 32 ? await this.getAccount(address) : undefined;
    if (!slots || !account) return await super.putStorage(address, key, value);
    slots.put(address, key, RLP.encode(unpadBytes(value)));
    await this.putAccount(address, account);
  }

  override async clearStorage(address: Address): Promise<void> {
    this.#noteSlots(address);
    await super.clearStorage(address);
  }

  override async deleteAccount(address: Address): Promise<void> {
    this.#noteSlots(address);
    await super.deleteAccount(address);
  }

  /** Lets the cache bring back the slots of an account that it is about to forget, where that is undone. */
  #noteSlots(address: Address): void {
    const { _caches: caches } = this;
    const slots = caches?.storage;
    for (const slot of slots?.dump(address)?.keys() ?? []) slots?.del(address, bytesOf(slot));
  }

  override async flush(): Promise<void> {
    const { _caches: caches, _trie: trie } = this;
    await this.#flushCode();
    await this.#flushSlots();
    const accounts = caches?.account?.flush() ?? [];
    if (accounts.length === 0) return;
    const changes = accounts.map(([hex, { accountRLP }]) => ({ key: bytesOf(hex), value: accountRLP ?? null }));
    await putAll(trie, changes, this.#hash);
  }

  async #flushCode(): Promise<void> {
    const { _caches: caches, _trie: trie, _prefixCodeHashes: isPrefixed } = this;
    for (const [hex, { code }] of caches?.code?.flush() ?? []) {
      if (code === undefined) continue;
      const address = createAddressFromString(`0x${hex}`);
      const codeHash = this.#hash(code);
      await trie.database().put(isPrefixed ? concatBytes(CODEHASH_PREFIX, codeHash) : codeHash, code);
      if ((await this.getAccount(address)) === undefined) await this.putAccount(address, new Account());
      await this.modifyAccountFields(address, { codeHash });
    }
  }

  async #flushSlots(): Promise<void> {
    const { _caches: caches } = this;
    const slots = caches?.storage?.flush() ?? [];
    for (const [hex, all] of Map.groupBy(slots, ([contract]) => contract)) {
      const address = createAddressFromString(`0x${hex}`);
      const account = await this.getAccount(address);
      if (!account) continue;
      const trie = storageTrieOf.call(this, address, account);
      const changes = all.map(([, key, value]): Change => ({
        key: bytesOf(key),
        value: value === undefined || isEmpty(value) ? null : value,
      }));
      await putAll(trie, changes, this.#hash);
      account.storageRoot = trie.root();
      await this.putAccount(address, account);
    }
  }

  get #hash(): (bytes: Uint8Array) => Uint8Array {
    return this.common.customCrypto.keccak256 ?? keccak_256;
  }
}

const bytesOf = (hex: string): Uint8Array => hexToBytes(`0x${hex}`);

/** Whether an encoded slot is empty, as the cache has one that was read and is not there. */
const isEmpty = (value: Uint8Array): boolean => RLP.decode(value).length === 0;
