import type { Block } from '@ethereumjs/block';
import type { TypedTransaction } from '@ethereumjs/tx';
import { type Address, createAddressFromString, createZeroAddress, MAX_UINT64 } from '@ethereumjs/util';
import { runTx, type RunTxResult } from '@ethereumjs/vm';
import { withHeader } from '../../../../kit/shims/ethereumjs/pretended.ts';
import { blobGasOf, type CallRequest, feeCapOf, messageOf } from '../call-request.ts';
import { executionCodes, ExecutionError, executionFailure } from '../execution-error.ts';
import type { Machine } from '../machine.ts';
import type { LogRecorder, RecordedLog } from './log-recorder.ts';
import { simulationCodes } from './plan.ts';

/** A call of a simulation that ran. */
export type SimulatedCall = Readonly<{ tx: TypedTransaction; result: RunTxResult; logs: readonly RecordedLog[] }>;

/** What calls of one block run in. */
export type CallPosition = Readonly<{
  machine: Machine;
  environment: Block;
  recorder: LogRecorder;
  validation: boolean;
  /** Gas that the blocks may still use together. */
  budget: { left: bigint };
}>;

/**
 * Runs one call. Fails with an ExecutionError, which ends the complete simulation, when no valid transaction could be
 * it.
 */
export async function simulateCall(
  position: CallPosition,
  request: CallRequest,
  gasUsed: bigint,
): Promise<SimulatedCall> {
  const { machine, environment, recorder, validation, budget } = position;
  const { state } = machine;
  const { header } = environment;
  const from = request.from ? createAddressFromString(request.from.toLowerCase()) : createZeroAddress();
  const account = await state.getAccount(from);
  const remaining = header.gasLimit - gasUsed;
  const wanted = request.gas === undefined ? remaining : BigInt(request.gas);
  if (wanted > remaining) throw new ExecutionError(simulationCodes.blockGasLimit, 'block gas limit reached');
  const gasLimit = wanted < budget.left ? wanted : budget.left;
  const nonce = request.nonce === undefined ? (account?.nonce ?? 0n) : BigInt(request.nonce);
  checkForm(request, machine);
  const { tx } = message(request, { gasLimit, nonce, machine, validation });
  const feeCap = feeCapOf(tx);
  const baseFee = header.baseFeePerGas ?? 0n;
  if (validation) checkNonce(nonce, account?.nonce ?? 0n);
  if ((validation || feeCap > 0n) && feeCap < baseFee)
    throw new ExecutionError(simulationCodes.baseFeeTooLow, 'max fee per gas less than block base fee');
  if (gasLimit < tx.getIntrinsicGas()) throw new ExecutionError(simulationCodes.intrinsicGas, 'intrinsic gas too low');
  if ((account?.balance ?? 0n) < gasLimit * feeCap + tx.value + blobCostOf(tx))
    throw new ExecutionError(simulationCodes.insufficientFunds, 'insufficient funds for gas * price + value');
  recorder.begin();
  const block = validation ? environment : withoutPrices(environment, recorder, tx);
  const result = await state.withSender(from, () => run(machine, { tx, block, gasUsed }));
  await wrapNonce(machine, from);
  const logs = recorder.take();
  budget.left -= result.totalGasSpent;
  return { tx, result, logs: result.execResult.exceptionError ? [] : logs };
}

type Running = Readonly<{ tx: TypedTransaction; block: Block; gasUsed: bigint }>;

async function run({ vm }: Machine, { tx, block, gasUsed }: Running): Promise<RunTxResult> {
  try {
    return await runTx(vm, {
      tx,
      block,
      skipNonce: true,
      skipBlockGasLimitValidation: true,
      skipHardForkValidation: true,
      blockGasUsed: gasUsed,
    });
  } catch (caught) {
    throw executionFailure(executionCodes.internal, caught);
  }
}

function checkNonce(options: bigint, next: bigint): void {
  if (options < next) throw new ExecutionError(simulationCodes.nonceTooLow, `nonce too low: ${options} < ${next}`);
  if (options > next) throw new ExecutionError(simulationCodes.nonceTooHigh, `nonce too high: ${options} > ${next}`);
  if (options >= MAX_UINT64) throw new ExecutionError(executionCodes.internal, 'nonce has max value');
}

type Draft = Readonly<{ gasLimit: bigint; nonce: bigint; machine: Machine; validation: boolean }>;

/** The last nonce of all is no transaction's, but a simulation that does not validate has it. */
function message(request: CallRequest, { gasLimit, nonce, machine, validation }: Draft): ReturnType<typeof messageOf> {
  const { common } = machine.vm;
  if (nonce < MAX_UINT64) return messageOf(request, { gasLimit, nonce, common });
  if (validation) throw new ExecutionError(executionCodes.internal, 'nonce has max value');
  const made = messageOf({ ...request, nonce: undefined }, { gasLimit, nonce: 0n, common });
  Object.assign(made.tx, { nonce });
  return made;
}

/** The nonce after the greatest one is 0, because a number of 64 bits wraps. */
async function wrapNonce({ vm, state }: Machine, sender: Address): Promise<void> {
  const account = await state.getAccount(sender);
  if (!account || account.nonce <= MAX_UINT64) return;
  account.nonce -= MAX_UINT64 + 1n;
  await vm.evm.journal.putAccount(sender, account);
  await vm.evm.journal.cleanup();
}

/** Where a call pays nothing, the check of its fees sees no prices; contracts see the block's. */
function withoutPrices(environment: Block, recorder: LogRecorder, tx: TypedTransaction): Block {
  const { baseFeePerGas: baseFee } = environment.header;
  const isFree = baseFee !== undefined && feeCapOf(tx) < baseFee;
  const hasFreeBlobs = 'maxFeePerBlobGas' in tx && tx.maxFeePerBlobGas === 0n;
  return withHeader(environment, {
    ...(isFree && { baseFeePerGas: { get: () => (recorder.isInCall ? baseFee : 0n) } }),
    ...(hasFreeBlobs && {
      getBlobGasPrice: { value: () => (recorder.isInCall ? environment.header.getBlobGasPrice() : 0n) },
    }),
  });
}

const blobCostOf = (tx: TypedTransaction): bigint =>
  'maxFeePerBlobGas' in tx ? blobGasOf(tx) * tx.maxFeePerBlobGas : 0n;

/** Refuses what is no transaction with the code of what is wrong with it. */
function checkForm({ to, input, data, maxFeePerGas, maxPriorityFeePerGas }: CallRequest, { vm }: Machine): void {
  if (BigInt(maxPriorityFeePerGas ?? 0) > BigInt(maxFeePerGas ?? 0))
    throw new ExecutionError(executionCodes.invalidParameters, 'max priority fee per gas higher than max fee per gas');
  const size = ((input ?? data ?? '0x').length - 2) / 2;
  if (!to && vm.common.isActivatedEIP(3860) && size > vm.common.param('maxInitCodeSize'))
    throw new ExecutionError(simulationCodes.initCodeSize, `max initcode size exceeded: ${size}`);
}
