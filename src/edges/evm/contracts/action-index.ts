import { type Address, setLengthLeft } from '@ethereumjs/util';
import { keccak_256 } from '@noble/hashes/sha3.js';
import type { Action } from '../../../commands/ledger/chain.ts';
import { evmAddress } from '../../chain/sign/addresses.ts';
import type { State } from '../executor/state/state.ts';
import { gas, type Meter } from './gas.ts';

type Payer = Pick<Meter, 'pay'>;

/** What actions are listed by: a state, a creator or a finalizing node (an address of 20 bytes, lower case). */
export type ActionKey = `${'state' | 'creator' | 'node'}/${string}`;

/** A page of a list: ids in ascending order, and how many there are in all. */
export type ListedIds = Readonly<{ ids: readonly string[]; total: bigint }>;

const bitsPerWord = 256;

/**
 * Which actions belong to each key: a bit for each id in words of storage, and above them a bit for each word that has
 * any, so that a page costs the words that it reads, however many actions there are.
 */
export class ActionIndex {
  readonly #state: State;
  readonly #account: Address;
  readonly #payer: Payer;

  constructor(state: State, account: Address, payer: Payer) {
    this.#state = state;
    this.#account = account;
    this.#payer = payer;
  }

  /** Follows an action from what it was to what it is. */
  async follow(before: Action | undefined, after: Action): Promise<void> {
    const [old, now] = [before ? keysOf(before) : new Set<ActionKey>(), keysOf(after)];
    for (const key of old) if (!now.has(key)) await this.#put(key, Number(after.id), false);
    for (const key of now) if (!old.has(key)) await this.#put(key, Number(after.id), true);
  }

  /** The ids of a key from an offset on; `actions` is how many there are of all. */
  async page(
    key: ActionKey,
    { offset, limit, actions }: Readonly<{ offset: bigint; limit: number; actions: number }>,
  ): Promise<ListedIds> {
    const total = await this.#read(`${key}/total`);
    const ids: string[] = [];
    let passed = 0n;
    for await (const id of this.#ids(key, actions)) {
      if (ids.length >= limit || passed + BigInt(ids.length) >= total) break;
      if (passed < offset) passed += 1n;
      else ids.push(String(id));
    }
    return { ids, total };
  }

  async *#ids(key: ActionKey, actions: number): AsyncGenerator<number> {
    for (let top = 0; top * bitsPerWord ** 2 <= actions; top += 1) {
      for (const at of bitsOf(await this.#read(`${key}/1/${top}`))) {
        const word = top * bitsPerWord + at;
        for (const bit of bitsOf(await this.#read(`${key}/0/${word}`))) yield word * bitsPerWord + bit;
      }
    }
  }

  async #put(key: ActionKey, id: number, isIn: boolean): Promise<void> {
    await this.#mark(`${key}/0`, id, isIn);
    const total = await this.#read(`${key}/total`);
    await this.#write(`${key}/total`, isIn ? total + 1n : total - 1n);
  }

  async #mark(level: `${ActionKey}/${0 | 1}`, at: number, isIn: boolean): Promise<void> {
    const [word, bit] = [Math.floor(at / bitsPerWord), 1n << BigInt(at % bitsPerWord)];
    const before = await this.#read(`${level}/${word}`);
    const after = isIn ? before | bit : before & ~bit;
    if (after === before) return;
    await this.#write(`${level}/${word}`, after);
    if (level.endsWith('/0') && (before === 0n) !== (after === 0n))
      await this.#mark(`${level.slice(0, -1)}1` as typeof level, word, isIn);
  }

  async #read(name: string): Promise<bigint> {
    this.#payer.pay(gas.word);
    const value = await this.#state.getStorage(this.#account, slotOf(name));
    return value.length === 0 ? 0n : BigInt(`0x${Buffer.from(value).toString('hex')}`);
  }

  async #write(name: string, value: bigint): Promise<void> {
    this.#payer.pay(gas.storedWord);
    const digits = value.toString(16).padStart(64, '0');
    await this.#state.putStorage(this.#account, slotOf(name), setLengthLeft(Buffer.from(digits, 'hex'), 32));
  }
}

function keysOf({ state, creator, superNodes }: Action): Set<ActionKey> {
  const keys = new Set<ActionKey>([`state/${state}`]);
  const address = evmAddress(creator);
  if (address !== undefined) keys.add(`creator/${address}`);
  for (const node of superNodes) {
    const of = evmAddress(node);
    if (of !== undefined) keys.add(`node/${of}`);
  }
  return keys;
}

function bitsOf(word: bigint): number[] {
  if (word === 0n) return [];
  const digits = word.toString(2);
  const last = digits.length - 1;
  return Array.from(digits).flatMap((_, at) => (digits[last - at] === '1' ? [at] : []));
}

function slotOf(name: string): Uint8Array {
  return keccak_256(new TextEncoder().encode(`annals/ledger/index/${name}`));
}
