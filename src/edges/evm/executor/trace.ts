import type { Block } from '@ethereumjs/block';
import type { InterpreterStep } from '@ethereumjs/evm';
import type { TypedTransaction } from '@ethereumjs/tx';
import { hexToBytes, setLengthLeft, setLengthRight } from '@ethereumjs/util';
import type { VM } from '@ethereumjs/vm';
import { type CallFrame, type CallTracerOptions, followCalls } from './call-frames.ts';
import { type Hex, hexOf } from './outcome.ts';
import type { StateReader } from './reader.ts';
import { replay, type Replayed } from './replay.ts';
import { type FlatCall, flatCalls, type FlatOptions, type FlatPosition } from './tracers/flat-calls.ts';
import { feeOf, forwardedGas, forwards } from './tracers/forwarded-gas.ts';
import { followState, type PrestateOptions } from './tracers/prestate.ts';
import { countSelectors } from './tracers/selectors.ts';
import { attach, together, type Tracer } from './tracers/tracer.ts';

/** Options of a trace; names as JSON-RPC has them. */
export type TraceOptions = Readonly<{
  disableStack?: boolean | undefined;
  disableStorage?: boolean | undefined;
  enableMemory?: boolean | undefined;
  enableReturnData?: boolean | undefined;
  /** Steps at most, where it is not 0. */
  limit?: number | undefined;
  tracer?: TracerName | undefined;
  tracerConfig?: TracerConfig | undefined;
}>;

/** Names of tracers, as go-ethereum has them. */
export const tracerNames = [
  'callTracer',
  'flatCallTracer',
  'prestateTracer',
  '4byteTracer',
  'noopTracer',
  'muxTracer',
] as const;
type TracerName = (typeof tracerNames)[number];

type OwnConfig = CallTracerOptions & FlatOptions & PrestateOptions;
/** Options of a tracer; `muxTracer` has those of others by their names. */
type TracerConfig = OwnConfig & Readonly<Partial<Record<TracerName, OwnConfig | undefined>>>;

/** A block whose transactions are traced. */
export type Traced = Replayed &
  Readonly<{
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

/** The instructions of a transaction, and what came of it. */
export type StructTrace = Readonly<{
  gas: number;
  failed: boolean;
  returnValue: Hex;
  structLogs: readonly StructLog[];
}>;

/** The trace of a transaction, in the form of its tracer. */
export type Trace = StructTrace | CallFrame | readonly FlatCall[] | Readonly<Record<string, unknown>>;

/** Executes a block again and returns the trace of each transaction, or of one. */
export async function trace(
  reader: StateReader,
  { index: wanted, options, ...replayed }: Traced,
): Promise<readonly Readonly<{ txHash: Hex; result: Trace }>[]> {
  const reported: { txHash: Hex; result: Trace }[] = [];
  await replay(reader, replayed, async ({ block, index, tx, machine: { vm }, run }) => {
    if (wanted !== undefined && index > wanted) return false;
    const isTraced = wanted === undefined || wanted === index;
    const tracer = isTraced ? tracerOf(vm, options, { block, index, tx }) : undefined;
    await tracer?.before?.(tx);
    const stop = tracer && attach(vm, tracer);
    const result = await run();
    stop?.();
    if (tracer) reported.push({ txHash: hexOf(tx.hash()), result: await tracer.report(result, tx) });
    return true;
  });
  return reported;
}

/** The position of a traced transaction in its block. */
type TracedAt = Readonly<{ block: Block; index?: number; tx?: TypedTransaction }>;

/** Makes the tracer that the options name; without a name, that of instructions. */
export function tracerOf(vm: VM, options: TraceOptions, at: TracedAt): Tracer<Trace> {
  const { tracer, tracerConfig: config = {} } = options;
  if (tracer === undefined) return followInstructions(options);
  if (tracer !== 'muxTracer') return namedTracer(vm, { name: tracer, config }, at);
  const named = tracerNames.flatMap((name) => (config[name] ? [[name, config[name]] as const] : []));
  const others = named.flatMap(([name, own]) =>
    name === 'muxTracer' ? [] : [[name, namedTracer(vm, { name, config: own }, at)] as const],
  );
  return together(new Map(others));
}

type Named = Readonly<{ name: Exclude<TracerName, 'muxTracer'>; config: OwnConfig }>;

function namedTracer(vm: VM, { name, config }: Named, at: TracedAt): Tracer<Trace> {
  switch (name) {
    case 'callTracer':
      return followCalls(config);
    case 'flatCallTracer': {
      const calls = followCalls({ ofMachine: config.ofMachine });
      const position = positionOf(at);
      return { ...calls, report: async (...of) => flatCalls(await calls.report(...of), config, position) };
    }
    case 'prestateTracer':
      return followState(vm, at.block.header.coinbase, config);
    case '4byteTracer':
      return countSelectors();
    case 'noopTracer':
      return { report: () => ({}) };
  }
}

function positionOf({ block, index, tx }: TracedAt): FlatPosition | undefined {
  if (!tx || index === undefined) return undefined;
  const { hash, header } = { hash: hexOf(block.hash()), header: block.header };
  const within = { transactionHash: hexOf(tx.hash()), transactionPosition: index };
  return { blockHash: hash, blockNumber: Number(header.number), ...within };
}

function followInstructions(options: TraceOptions): Tracer<StructTrace> {
  const logs: StructLog[] = [];
  const seen = new Map<string, Slots>();
  const limit = options.limit ?? 0;
  const add = async (step: InterpreterStep): Promise<void> => {
    logs.push(structLog(step, options, await storageOf(step, options, seen)));
  };
  return {
    step: (step) => (limit > 0 && logs.length >= limit ? undefined : add(step)),
    report: ({ execResult, totalGasSpent }) => ({
      gas: Number(totalGasSpent),
      failed: execResult.exceptionError !== undefined,
      returnValue: hexOf(execResult.returnValue),
      structLogs: logs,
    }),
  };
}

const word = (bytes: Uint8Array): Hex => hexOf(setLengthLeft(bytes, 32));
const wordOf = (value: bigint): Hex => `0x${value.toString(16).padStart(64, '0')}`;

/** Values of slots, both as words. */
type Slots = Readonly<Record<Hex, Hex>>;

function structLog(step: InterpreterStep, options: TraceOptions, storage: Slots | undefined): StructLog {
  const { pc, opcode, gasLeft, depth, stack, memory } = step;
  const forwarded = forwards.has(opcode.name) ? forwardedGas(step) : 0n;
  return {
    pc,
    op: opcode.name,
    gas: Number(gasLeft),
    gasCost: Number(feeOf(step) + forwarded),
    depth: depth + 1,
    ...(options.disableStack !== true && { stack: stack.map((value): Hex => `0x${value.toString(16)}`) }),
    ...(options.enableMemory === true && memory.length > 0 && { memory: wordsOf(memory) }),
    ...(storage && { storage }),
  };
}

const wordsOf = (memory: Uint8Array): Hex[] =>
  Array.from({ length: Math.ceil(memory.length / 32) }, (_, index): Hex => {
    const at = index * 32;
    return hexOf(setLengthRight(memory.slice(at, at + 32), 32));
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
