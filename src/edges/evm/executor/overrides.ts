import type { Block } from '@ethereumjs/block';
import { Account, createAddressFromString, hexToBytes, setLengthLeft } from '@ethereumjs/util';
import { withHeader } from '../../../kit/shims/ethereumjs/pretended.ts';
import { executionCodes, ExecutionError } from './execution-error.ts';
import type { Machine } from './machine.ts';
import type { Hex } from './outcome.ts';

/** A call's overrides of one account; `state` replaces all of its storage, `stateDiff` some slots. */
export type AccountOverride = Readonly<{
  balance?: Hex | undefined;
  nonce?: Hex | undefined;
  code?: Hex | undefined;
  state?: Readonly<Record<string, Hex>> | undefined;
  stateDiff?: Readonly<Record<string, Hex>> | undefined;
  movePrecompileToAddress?: Hex | undefined;
  /** As the specification of `eth_simulateV1` writes it. */
  MovePrecompileToAddress?: Hex | undefined;
}>;
/** By address. */
export type StateOverrides = Readonly<Record<string, AccountOverride>>;

/** A call's overrides of the block that it runs in. Numbers are hex. */
export type BlockOverrides = Readonly<{
  number?: Hex | undefined;
  time?: Hex | undefined;
  gasLimit?: Hex | undefined;
  feeRecipient?: Hex | undefined;
  coinbase?: Hex | undefined;
  prevRandao?: Hex | undefined;
  random?: Hex | undefined;
  baseFeePerGas?: Hex | undefined;
  baseFee?: Hex | undefined;
  blobBaseFee?: Hex | undefined;
  beaconRoot?: Hex | undefined;
  difficulty?: Hex | undefined;
  withdrawals?: readonly Readonly<{ index: Hex; validatorIndex: Hex; address: Hex; amount: Hex }>[] | undefined;
}>;

/** A word of 32 bytes of up to 64 hex digits. */
export const wordOf = (hex: string): Uint8Array => setLengthLeft(hexToBytes(evenHex(hex)), 32);

const evenHex = (hex: string): Hex => `0x${hex.length % 2 === 0 ? '' : '0'}${hex.slice(2)}`;

/** Writes overrides into a state; it takes them back as it takes back everything else. */
export async function overrideState({ state }: Machine, overrides: StateOverrides): Promise<void> {
  for (const [name, input] of Object.entries(overrides)) {
    const address = createAddressFromString(name);
    const { balance, nonce, code, state: complete, stateDiff } = input;
    if (complete && stateDiff)
      throw new ExecutionError(executionCodes.failed, `account ${name} has both state and stateDiff`);
    if ([balance, nonce, code, complete, stateDiff].every((one) => one === undefined)) continue;
    const account = (await state.getAccount(address)) ?? new Account();
    if (balance !== undefined) account.balance = BigInt(balance);
    if (nonce !== undefined) account.nonce = BigInt(nonce);
    // Past the journal: an empty account is there until a transaction touches it.
    await state.putAccount(address, account);
    if (code !== undefined) await state.putCode(address, hexToBytes(code));
    if (complete) await state.clearStorage(address);
    for (const [slot, value] of Object.entries(complete ?? stateDiff ?? {})) {
      const bytes = wordOf(value);
      await state.putStorage(address, wordOf(slot), bytes.subarray(bytes.findIndex((byte) => byte !== 0) >>> 0));
    }
  }
}

/** The same block with what is pretended of it. */
export function overrideBlock(block: Block, options: BlockOverrides): Block {
  const { number, time, gasLimit, prevRandao = options.random, baseFeePerGas = options.baseFee, blobBaseFee } = options;
  const recipient = options.feeRecipient ?? options.coinbase;
  const fields: Record<string, PropertyDescriptor> = {};
  const set = (name: string, value: unknown): void => {
    if (value !== undefined) fields[name] = { value };
  };
  set('number', number && BigInt(number));
  set('timestamp', time && BigInt(time));
  set('gasLimit', gasLimit && BigInt(gasLimit));
  set('coinbase', recipient && createAddressFromString(recipient));
  set('prevRandao', prevRandao && wordOf(prevRandao));
  set('mixHash', prevRandao && wordOf(prevRandao));
  set('baseFeePerGas', baseFeePerGas && BigInt(baseFeePerGas));
  set('getBlobGasPrice', blobBaseFee && (() => BigInt(blobBaseFee)));
  return withHeader(block, fields);
}
