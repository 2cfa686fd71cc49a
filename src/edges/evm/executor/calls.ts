import { createAddressFromString } from '@ethereumjs/util';
import { runTx, type RunTxResult } from '@ethereumjs/vm';
import { passes } from '../../../kit/errors.ts';
import { withHeader } from '../../../kit/shims/ethereumjs/pretended.ts';
import { gas as gasCosts } from '../contracts/gas.ts';
import { type AccessList, type CallRequest, feeCapOf, messageOf } from './call-request.ts';
import { executionCodes, ExecutionError, executionFailure, intrinsicGas } from './execution-error.ts';
import { type BlockOverrides, overrideBlock, overrideState, type StateOverrides } from './overrides.ts';
import type { At, StatePosition, StateReader } from './reader.ts';
import { callFailure } from './revert-reason.ts';
import { movePrecompiles } from './simulate/precompiles.ts';
import { type Trace, type TraceOptions, tracerOf } from './trace.ts';
import { attach } from './tracers/tracer.ts';

/** A call at the end of a block, with what it pretends. */
export type EvmCall = Pretended & Readonly<{ request: CallRequest }>;

type Pretended = Readonly<{
  at: At;
  /** Most gas that it may use, whatever it requests. */
  gasCap: bigint;
  stateOverrides?: StateOverrides | undefined;
  blockOverrides?: BlockOverrides | undefined;
}>;

/** The return data of a call. Fails with an ExecutionError when it reverts or cannot run. */
export const call = async (reader: StateReader, input: EvmCall): Promise<Uint8Array> =>
  await pretending(reader, input, async (position) => {
    const { execResult } = await run(position, { ...input, gas: gasOf(input) });
    const { exceptionError, returnValue } = execResult;
    if (exceptionError) throw callFailure(exceptionError.error, returnValue);
    return returnValue;
  });

/**
 * The trace of a call, in the form of its options. Fails with an ExecutionError when it cannot run; a revert is part of
 * the trace.
 */
export const traceCall = async (
  reader: StateReader,
  { options, request, ...given }: EvmCall & Readonly<{ options: TraceOptions }>,
): Promise<Trace> => {
  const [trace = {}] = await traceCalls(reader, { ...given, calls: [{ request, options }] });
  return trace;
};

/** The traces of calls of which each runs on what those before it left; together they use `gasCap` at most. */
export const traceCalls = async (
  reader: StateReader,
  given: Pretended & Readonly<{ calls: readonly Readonly<{ request: CallRequest; options: TraceOptions }>[] }>,
): Promise<readonly Trace[]> =>
  await pretending(reader, given, async (on) => {
    const { vm } = on.machine;
    const reported: Trace[] = [];
    let left = given.gasCap;
    for (const { request, options } of given.calls) {
      const gas = gasOf({ request, gasCap: left });
      const { tx } = messageOf(request, { gasLimit: gas, nonce: 0n, common: vm.common });
      const tracer = tracerOf(vm, options, { block: on.block });
      await tracer.before?.(tx);
      const stop = attach(vm, tracer);
      try {
        const result = await run(on, { request, gas });
        left -= result.totalGasSpent;
        reported.push(await tracer.report(result, tx));
      } finally {
        stop();
      }
    }
    return reported;
  });

/** Relative error that an estimate may have; as other nodes have it. */
const tolerance = 0.015;

/** Bytes that a row or an event may grow by in a later block, where heights, balances and counts have more digits. */
const growthBytes = 64n;

/** What the rows and events of the call that just ran may cost more by the time it is sealed. */
function growthGas({ machine: { state } }: StatePosition): bigint {
  const rows = BigInt(state.takeRecords().length);
  const events = BigInt(state.takeTold().length);
  return growthBytes * (rows * gasCosts.storedByte + events * gasCosts.eventByte);
}

/**
 * The least gas, or up to 1.5 percent more, with which a call succeeds, and what its rows of the chain's rules may grow
 * by until a later block seals it. Fails as `call` does.
 */
export const estimate = async (reader: StateReader, values: EvmCall): Promise<bigint> =>
  await pretending(reader, values, async (on) => {
    const most = await affordable(on, values);
    let growth = 0n;
    const attempt = async (gas: bigint): Promise<RunTxResult> =>
      await undone(on, async () => {
        const result = await run(on, { request: values.request, gas });
        const now = growthGas(on);
        if (now > growth) growth = now;
        return result;
      });
    const enough = (gas: bigint): bigint => (gas + growth < most ? gas + growth : most);
    const first = await attempt(most).catch((caught: unknown) => {
      throw caught instanceof ExecutionError && caught.message.startsWith(intrinsicGas) ? tooMuchGas(most) : caught;
    });
    const { exceptionError, returnValue } = first.execResult;
    if (exceptionError?.error === 'out of gas') throw tooMuchGas(most);
    if (exceptionError) throw callFailure(exceptionError.error, returnValue);
    const succeeds = async (gas: bigint): Promise<boolean> => {
      try {
        return (await attempt(gas)).execResult.exceptionError === undefined;
      } catch (caught) {
        if (passes(caught)) throw caught;
        // Less gas than the transaction costs in itself.
        return false;
      }
    };
    if (await succeeds(first.totalGasSpent)) return enough(first.totalGasSpent);
    let low = first.totalGasSpent;
    let high = most;
    const near = ((low + (first.gasRefund ?? 0n) + 2300n) * 64n) / 63n;
    if (near < high && (await succeeds(near))) high = near;
    while (low + 1n < high && Number(high - low) / Number(high) > tolerance) {
      const middle = (low + high) / 2n > low * 2n ? low * 2n : (low + high) / 2n;
      if (await succeeds(middle)) high = middle;
      else low = middle;
    }
    return enough(high);
  });

/** As other nodes word it where the block, the request or the sender's coins allow too little gas. */
const tooMuchGas = (allowed: bigint): ExecutionError =>
  new ExecutionError(executionCodes.failed, `gas required exceeds allowance (${allowed})`);

/** Slots that a call would name in advance, what it then costs, and why it failed if it did. */
export type AccessListResult = Readonly<{ accessList: AccessList; gasUsed: bigint; error: string | undefined }>;

/** Most rounds until a list no longer changes. */
const accessListRounds = 8;

/** Finds the slots that a call touches, and what it costs when it names them. */
export const accessList = async (reader: StateReader, given: EvmCall): Promise<AccessListResult> =>
  await pretending(reader, given, async (on) => {
    let list: AccessList = given.request.accessList ?? [];
    for (let round = 1; ; round += 1) {
      const request = { ...given.request, accessList: list };
      const result = await undone(on, () => run(on, { request, gas: gasOf(given), access: true }));
      const { from, to } = given.request;
      const called = to?.toLowerCase() ?? result.createdAddress?.toString();
      const isWarm = (address: string): boolean => [from?.toLowerCase(), called].includes(address);
      const named = (result.accessList ?? []).filter(
        ({ address, storageKeys }) => storageKeys.length > 0 || !isWarm(address),
      );
      const error = result.execResult.exceptionError?.error;
      const same = JSON.stringify(named) === JSON.stringify(list);
      list = named;
      if (same || round === accessListRounds)
        return {
          accessList: list,
          gasUsed: result.totalGasSpent,
          error: error === 'revert' ? 'execution reverted' : error,
        };
    }
  });

/** Lends a machine at the end of a block, with what the call pretends of accounts and of the block. */
const pretending = async <T>(
  reader: StateReader,
  given: Pretended,
  use: (location: StatePosition) => Promise<T>,
): Promise<T> =>
  await reader.read(given.at, async ({ machine, block }) => {
    const { stateOverrides = {}, blockOverrides = {} } = given;
    const restore = movePrecompiles(machine.vm, stateOverrides);
    try {
      await overrideState(machine, stateOverrides);
      return await use({ machine, block: overrideBlock(block, blockOverrides) });
    } finally {
      restore();
    }
  });

function gasOf({ request, gasCap }: Pick<EvmCall, 'request' | 'gasCap'>): bigint {
  const wanted = request.gas === undefined ? gasCap : BigInt(request.gas);
  return wanted < gasCap ? wanted : gasCap;
}

/** As much gas as the sender could pay for; all of it where gas costs nothing. */
async function affordable({ machine, block }: StatePosition, given: EvmCall): Promise<bigint> {
  const { request } = given;
  const limit = block.header.gasLimit;
  const most = request.gas === undefined && limit < given.gasCap ? limit : gasOf(given);
  const price = BigInt(request.gasPrice ?? request.maxFeePerGas ?? 0);
  if (price === 0n || request.from === undefined) return most;
  const account = await machine.state.getAccount(createAddressFromString(request.from));
  const left = (account?.balance ?? 0n) - BigInt(request.value ?? 0);
  if (left < 0n) throw new ExecutionError(executionCodes.failed, 'insufficient funds for transfer');
  return left / price < most ? left / price : most;
}

async function undone<T>({ machine }: StatePosition, use: () => Promise<T>): Promise<T> {
  const { journal } = machine.vm.evm;
  await journal.checkpoint();
  try {
    return await use();
  } finally {
    await journal.revert();
  }
}

type Run = Readonly<{ request: CallRequest; gas: bigint; access?: boolean }>;

/** Runs a call as a transaction of its sender, whose nonce, signature and code do not matter. */
async function run({ machine, block }: StatePosition, { request, gas, access = false }: Run): Promise<RunTxResult> {
  const { vm, state } = machine;
  const { tx, from } = messageOf(request, { gasLimit: gas, nonce: 0n, common: vm.common });
  const { value } = tx;
  const price = feeCapOf(tx);
  const balance = (await state.getAccount(from))?.balance ?? 0n;
  if (balance < gas * price + value)
    throw new ExecutionError(
      executionCodes.failed,
      `insufficient funds for gas * price + value: address ${from.toString()} have ${balance} want ${gas * price + value}`,
    );
  const free = price === 0n && block.header.baseFeePerGas !== undefined;
  const freeBlobs = 'maxFeePerBlobGas' in tx && tx.maxFeePerBlobGas === 0n;
  const hidden = {
    ...(free && { baseFeePerGas: { value: 0n } }),
    ...(freeBlobs && { getBlobGasPrice: { value: () => 0n } }),
  };
  const options = {
    tx,
    block: withHeader(block, hidden),
    skipNonce: true,
    skipBlockGasLimitValidation: true,
    skipHardForkValidation: true,
    reportAccessList: access,
  };
  try {
    return await state.withSender(from, () => runTx(vm, options));
  } catch (caught) {
    throw executionFailure(executionCodes.failed, caught);
  }
}
