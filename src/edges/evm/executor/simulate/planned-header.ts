import { type Block, genWithdrawalsTrieRoot, type HeaderData } from '@ethereumjs/block';
import { type Common, Hardfork } from '@ethereumjs/common';
import { Account, type Address, createAddressFromString, createWithdrawal, type Withdrawal } from '@ethereumjs/util';
import { withHeader } from '../../../../kit/shims/ethereumjs/pretended.ts';
import { type FeeRule, nextBaseFee } from '../base-fee.ts';
import { blobGasOf } from '../call-request.ts';
import type { Machine } from '../machine.ts';
import { wordOf } from '../overrides.ts';
import type { PlannedBlock } from './plan.ts';
import type { SimulatedCall } from './simulated-calls.ts';

/** The header of a simulated block before anything ran in it. */
export function plannedHeader(
  { common, fees, validation }: Readonly<{ common: Common; fees: FeeRule; validation: boolean }>,
  parent: Block,
  { number, timestamp, overrides }: PlannedBlock,
): HeaderData {
  const merged = common.gteHardfork(Hardfork.Paris);
  const { baseFeePerGas = overrides.baseFee, prevRandao = overrides.random } = overrides;
  const recipient = overrides.feeRecipient ?? overrides.coinbase;
  const ordinary = validation ? nextBaseFee(parent.header, fees) : 0n;
  return {
    parentHash: parent.hash(),
    number,
    timestamp,
    gasLimit: overrides.gasLimit === undefined ? parent.header.gasLimit : BigInt(overrides.gasLimit),
    coinbase: recipient === undefined ? parent.header.coinbase : createAddressFromString(recipient.toLowerCase()),
    difficulty: merged ? 0n : parent.header.difficulty,
    mixHash: prevRandao === undefined ? new Uint8Array(32) : wordOf(prevRandao),
    ...(common.isActivatedEIP(1559) && {
      baseFeePerGas: baseFeePerGas === undefined ? ordinary : BigInt(baseFeePerGas),
    }),
    ...(common.isActivatedEIP(4788) && {
      parentBeaconBlockRoot: overrides.beaconRoot === undefined ? new Uint8Array(32) : wordOf(overrides.beaconRoot),
    }),
    ...(common.isActivatedEIP(4844) && {
      excessBlobGas: parent.header.excessBlobGas === undefined ? 0n : parent.header.calcNextExcessBlobGas(common),
      blobGasUsed: 0n,
    }),
  };
}

/** The block with the price of blobs of its plan. */
export const priced = (block: Block, { overrides: { blobBaseFee } }: PlannedBlock): Block =>
  blobBaseFee === undefined ? block : withHeader(block, { getBlobGasPrice: { value: () => BigInt(blobBaseFee) } });

/** Gas of the blobs of all calls. */
export const blobGasOfAll = (calls: readonly SimulatedCall[]): bigint =>
  calls.reduce((sum, { tx }) => sum + blobGasOf(tx), 0n);

/** Pays the coinbase for a block of before the merge, as each of that time does. */
export async function reward({ vm, state }: Machine, { coinbase }: Readonly<{ coinbase: Address }>): Promise<void> {
  if (vm.common.gteHardfork(Hardfork.Paris)) return;
  const account = (await state.getAccount(coinbase)) ?? new Account();
  account.balance += vm.common.param('minerReward');
  await state.putAccount(coinbase, account);
}

const weiPerGwei = 1_000_000_000n;

/** Pays what a block's plan takes from the beacon chain. */
export async function withdraw(
  { vm, state }: Machine,
  { overrides }: PlannedBlock,
): Promise<{ list: Withdrawal[] | undefined; root: Readonly<{ withdrawalsRoot?: Uint8Array }> }> {
  if (!vm.common.isActivatedEIP(4895)) return { list: undefined, root: {} };
  const list = [...(overrides.withdrawals ?? [])];
  for (const { address, amount } of list) {
    const of = createAddressFromString(address.toLowerCase());
    const account = (await state.getAccount(of)) ?? new Account();
    account.balance += BigInt(amount) * weiPerGwei;
    await state.putAccount(of, account);
  }
  const withdrawals = list.map((one) => createWithdrawal(one));
  return { list: withdrawals, root: { withdrawalsRoot: await genWithdrawalsTrieRoot(withdrawals) } };
}
