import type { InterpreterStep } from '@ethereumjs/evm';
import { bytesToHex, hexToBytes, setLengthLeft, setLengthRight } from '@ethereumjs/util';
import { runTx, type VM } from '@ethereumjs/vm';
import { payBaseFee } from './block-builder.ts';
import { readBlock } from './blocks.ts';
import { type CallFrame, followCalls, type Recording } from './call-frames.ts';
import { executionCodes, ExecutionError } from './execution-error.ts';
import type { Hex } from './outcome.ts';
import type { At, StateReader } from './reader.ts';
import { type AccountsItem, applyAccounts } from './sealing.ts';
import { openBlock } from './system-calls.ts';

/** Options of a trace; names as JSON-RPC has them. */
export type TraceOptions = Readonly<{
  disableStack?: boolean | undefined;
  disableStorage?: boolean | undefined;
  enableMemory?: boolean | undefined;
  enableReturnData?: boolean | undefined;
  /** Steps at most, where it is not 0. */
  limit?: number | undefined;
  tracer?: 'callTracer' | undefined;
  tracerConfig?: Readonly<{ onlyTopCall?: boolean | undefined; withLog?: boolean | undefined }> | undefined;
}>;

/** A block whose transactions are traced, on top of its parent; `opening` is what the rules left to them. */
export type Traced = Readonly<{
  parent: At;
  block: Uint8Array;
  opening?: AccountsItem | undefined;
  /** Only this transaction. */
  index?: number | undefined;
  options: TraceOptions;
}>;

/** One instruction, as `debug_trace*` shows it. */
export type StructLog = Readonly<{
  pc: number;
  op: string;
  gas: number;
  gasCost: number;
  depth: number;
  stack?: readonly Hex[];
  memory?: readonly Hex[];
  storage?: Readonly<Record<Hex, Hex>>;
  returnData?: Hex;
}>;

/** The trace of a transaction: instruction by instruction, or call by call. */
export type Trace =
  Readonly<{ gas: number; failed: boolean; returnValue: Hex; structLogs: readonly StructLog[] }> | CallFrame;

/** Executes a block again and returns the trace of each transaction, or of one. */
export async function trace(
  reader: StateReader,
  { parent, block: rlp, opening, index, options }: Traced,
): Promise<readonly Readonly<{ txHash: Hex; result: Trace }>[]> {
  const block = readBlock(rlp, reader.forks);
  if (block.header.number === 0n) throw new ExecutionError(executionCodes.failed, 'genesis is not traceable');
  const machine = await reader.machineAt(parent, reader.forks.at(block.header));
  const { vm } = machine;
  const reported: { txHash: Hex; result: Trace }[] = [];
  await vm.evm.journal.checkpoint();
  await openBlock(vm, block.header);
  if (opening) await applyAccounts(machine, opening);
  let gasUsed = 0n;
  for (const [at, tx] of block.transactions.entries()) {
    if (index !== undefined && at > index) break;
    const recording = index === undefined || index === at ? record(vm, options) : undefined;
    const result = await runTx(vm, { tx, block, blockGasUsed: gasUsed, skipHardForkValidation: true });
    recording?.stop();
    if (recording) reported.push({ txHash: bytesToHex(tx.hash()), result: recording.told(result, tx) });
    if (reader.config.feesTo === 'coinbase') await payBaseFee(vm, block, result);
    gasUsed += result.totalGasSpent;
  }
  return reported;
}

/** Notes what the transactions do that run on a machine from now on. */
export function record(vm: VM, options: TraceOptions): Recording<Trace> {
  if (options.tracer === 'callTracer') return followCalls(vm, options.tracerConfig ?? {});
  const logs: StructLog[] = [];
  const seen = new Map<string, Slots>();
  const limit = options.limit ?? 0;
  const add = async (step: InterpreterStep, done?: () => void): Promise<void> => {
    logs.push(structLog(step, options, await storageOf(step, options, seen)));
    done?.();
  };
  const onStep = (step: InterpreterStep, done?: () => void): void => {
    if (limit > 0 && logs.length >= limit) done?.();
    else void add(step, done);
  };
  vm.evm.events?.on('step', onStep);
  return {
    told: ({ execResult, totalGasSpent }) => ({
      gas: Number(totalGasSpent),
      failed: execResult.exceptionError !== undefined,
      returnValue: bytesToHex(execResult.returnValue),
      structLogs: logs,
    }),
    stop: () => void vm.evm.events?.off('step', onStep),
  };
}

const word = (bytes: Uint8Array): Hex => bytesToHex(setLengthLeft(bytes, 32));
const wordOf = (value: bigint): Hex => `0x${value.toString(16).padStart(64, '0')}`;

/** Values of slots, both as words. */
type Slots = Readonly<Record<Hex, Hex>>;

function structLog(step: InterpreterStep, options: TraceOptions, storage: Slots | undefined): StructLog {
  const { pc, opcode, gasLeft, depth, stack, memory } = step;
  return {
    pc,
    op: opcode.name,
    gas: Number(gasLeft),
    gasCost: Number(opcode.dynamicFee ?? opcode.fee),
    depth: depth + 1,
    ...(options.disableStack !== true && { stack: stack.map((value): Hex => `0x${value.toString(16)}`) }),
    ...(options.enableMemory === true && memory.length > 0 && { memory: wordsOf(memory) }),
    ...(storage && { storage }),
  };
}

const wordsOf = (memory: Uint8Array): Hex[] =>
  Array.from({ length: Math.ceil(memory.length / 32) }, (_, index): Hex => {
    const at = index * 32;
    return bytesToHex(setLengthRight(memory.slice(at, at + 32), 32));
  });

/** The slots of the contract that were read or written so far, at the instructions that do so. */
async function storageOf(
  { opcode, stack, address, stateManager }: InterpreterStep,
  { disableStorage }: TraceOptions,
  seen: Map<string, Slots>,
): Promise<Slots | undefined> {
  const slot = stack.at(-1);
  if (disableStorage === true || slot === undefined || !['SLOAD', 'SSTORE'].includes(opcode.name)) return undefined;
  const read = async (): Promise<Hex> => word(await stateManager.getStorage(address, hexToBytes(wordOf(slot))));
  const value = opcode.name === 'SLOAD' ? await read() : wordOf(stack.at(-2) ?? 0n);
  const storage = { ...seen.get(address.toString()), [wordOf(slot)]: value };
  seen.set(address.toString(), storage);
  return storage;
}
