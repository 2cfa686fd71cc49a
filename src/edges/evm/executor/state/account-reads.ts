import { getMerkleStateProof } from '@ethereumjs/statemanager';
import { type Address, createAddressFromString, type PrefixedHexString, setLengthLeft } from '@ethereumjs/util';
import { AppError } from '../../../../kit/errors.ts';
import { wordOf } from '../overrides.ts';
import type { Hex } from '../outcome.ts';
import type { At, StateReader } from '../reader.ts';
import type { State } from './state.ts';

/** An account at the end of a block. */
export type AccountRead = Readonly<{ at: At; address: Hex }>;

/** Balance and nonce; nothing and 0 where there is no account. */
export const account = (
  reader: StateReader,
  input: AccountRead,
): Promise<Readonly<{ balance: bigint; nonce: bigint; codeHash: Uint8Array | undefined }>> =>
  reading(reader, input, async (state, address) => {
    const match = await state.getAccount(address);
    return { balance: match?.balance ?? 0n, nonce: match?.nonce ?? 0n, codeHash: match?.codeHash };
  });

/** The code of a contract; empty elsewhere. */
export const code = (reader: StateReader, options: AccountRead): Promise<Uint8Array> =>
  reading(reader, options, (state, address) => state.getCode(address));

/** Words of 32 bytes in some slots, in their order. */
export const storage = (
  reader: StateReader,
  values: AccountRead & Readonly<{ slots: readonly Hex[] }>,
): Promise<readonly Uint8Array[]> =>
  reading(reader, values, async (state, address) => {
    const words: Uint8Array[] = [];
    for (const slot of values.slots) words.push(setLengthLeft(await state.getStorage(address, wordOf(slot)), 32));
    return words;
  });

/** Merkle proofs of an account and of some of its slots, in the form of `eth_getProof`. */
export type AccountProof = Awaited<ReturnType<typeof getMerkleStateProof>>;

/** Proves what an account and some slots hold, or that they hold nothing. */
export const proof = (
  reader: StateReader,
  given: AccountRead & Readonly<{ slots: readonly Hex[] }>,
): Promise<AccountProof> =>
  reading(reader, given, async (state, address) => {
    const proven = await getMerkleStateProof(
      state,
      address,
      given.slots.map((slot) => wordOf(slot)),
    );
    return { ...proven, storageProof: proven.storageProof.map((one, index) => named(one, given.slots[index])) };
  });

/** Slots are named as in the request when they had 32 bytes there, else as short numbers. */
const named = (
  one: AccountProof['storageProof'][number],
  slot: Hex | undefined,
): AccountProof['storageProof'][number] => {
  const short = (value: string): PrefixedHexString => `0x${BigInt(value === '0x' ? 0 : value).toString(16)}`;
  return { ...one, key: slot?.length === 66 ? slot : short(slot ?? '0x0'), value: short(one.value) };
};

const reading = <T>(
  reader: StateReader,
  { at, address }: AccountRead,
  use: (state: State, address: Address) => Promise<T>,
): Promise<T> => reader.read(at, ({ machine }) => use(machine.state, createAddressFromString(address)));

/** RLP of the header of a stored block. Fails with `UNAVAILABLE` where the state has not come so far. */
export const storedHeader = async (
  { nodes }: StateReader,
  { number }: Readonly<{ number: bigint }>,
): Promise<Uint8Array> => {
  const stored = await nodes.header(number);
  if (!stored) throw new AppError('UNAVAILABLE', `The state of block ${number} is not at hand`);
  return stored.rlp;
};
