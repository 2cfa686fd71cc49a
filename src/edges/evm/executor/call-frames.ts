import type { EVMResult, InterpreterStep, Log, Message } from '@ethereumjs/evm';
import type { TypedTransaction } from '@ethereumjs/tx';
import { type Address, createAddressFromBigInt, createContractAddress } from '@ethereumjs/util';
import { type ExecutedLog, type Hex, hexOf } from './outcome.ts';
import { callFailure } from './revert-reason.ts';
import { errorText, type LastStep } from './tracers/error-texts.ts';
import { feeOf, forwardedGas, forwards } from './tracers/forwarded-gas.ts';
import { isPrecompile, type Tracer } from './tracers/tracer.ts';

/** A call and the calls within it, in the form of the tracer `callTracer`; numbers are hex. */
export type CallFrame = Readonly<{
  type: string;
  from: Hex;
  to?: Hex | undefined;
  value?: Hex | undefined;
  gas: Hex;
  gasUsed: Hex;
  input: Hex;
  output?: Hex | undefined;
  error?: string | undefined;
  revertReason?: string | undefined;
  calls?: readonly CallFrame[] | undefined;
  /** The logs that this call itself wrote; `position` is the number of calls that it had made by then. */
  logs?: readonly PlacedLog[] | undefined;
}>;

type PlacedLog = ExecutedLog & Readonly<{ position: Hex }>;

/** Which calls to record; names as JSON-RPC has them. */
export type CallTracerOptions = Readonly<{
  onlyTopCall?: boolean | undefined;
  withLog?: boolean | undefined;
  /** Shows the gas that the machine got and used, without what the transaction costs in itself. */
  ofMachine?: boolean | undefined;
}>;

/** A call under way; its frame is complete once it has ended. */
type Followed = {
  frame: CallFrame;
  readonly calls: Followed[];
  /** Of each log that it writes, how many calls it had made by then. */
  readonly positions: number[];
  /** All that it and those within it wrote. */
  logs: readonly Log[];
};

/** Records the calls of a transaction while it runs, in the form of go-ethereum's `callTracer`. */
export function followCalls(options: CallTracerOptions): Tracer<CallFrame> {
  const open: Followed[] = [];
  let opcode = 'CALL';
  let last: LastStep = { code: 0, gasLeft: 0n, fee: 0n };
  let top: Followed | undefined;
  return {
    step: (step) => {
      opcode = step.opcode.name;
      last = { code: step.opcode.code, gasLeft: step.gasLeft, fee: feeOf(step) };
      const current = open.at(-1);
      if (opcode.startsWith('LOG')) current?.positions.push(current.calls.length);
      const other = opcode === 'SELFDESTRUCT' ? selfDestruct(step) : refusedCall(step);
      if (other) current?.calls.push(followed(other));
    },
    start: (message) => {
      const started = followed(frameOf(message, opcode));
      open.at(-1)?.calls.push(started);
      open.push(started);
    },
    end: (result) => {
      const ended = open.pop();
      if (!ended) return;
      ended.frame = end(ended.frame, result, last);
      ended.logs = result.execResult.logs ?? [];
      top = ended;
    },
    report: ({ totalGasSpent }, tx) => {
      const full = top ? reported(top, options) : plainFrame(tx);
      if (options.ofMachine !== true) return { ...full, gas: hex(tx.gasLimit), gasUsed: hex(totalGasSpent) };
      return top ? full : { ...full, gas: hex(tx.gasLimit - tx.getIntrinsicGas()) };
    },
  };
}

const followed = (frame: CallFrame): Followed => ({ frame, calls: [], positions: [], logs: [] });

/** The frame with what happened within it; a call that failed undoes the logs of those within it. */
function reported(
  { frame, calls, positions, logs }: Followed,
  options: CallTracerOptions,
  isUndone = false,
): CallFrame {
  const { onlyTopCall = false, withLog = false } = options;
  const undoes = isUndone || frame.error !== undefined;
  const others = new Set(calls.flatMap((call) => call.logs));
  const own = withLog && !undoes ? logs.filter((log) => !others.has(log)) : [];
  return {
    ...frame,
    calls: onlyTopCall || calls.length === 0 ? undefined : calls.map((call) => reported(call, options, undoes)),
    logs: own.length === 0 ? undefined : own.map((log, index) => placed(log, positions[index] ?? 0)),
  };
}

const placed = ([address, topics, data]: Log, position: number): PlacedLog => ({
  address: hexOf(address),
  topics: topics.map((topic) => hexOf(topic)),
  data: hexOf(data),
  position: `0x${position.toString(16)}`,
});

/** The frame of a call at its start, named by the instruction that makes it. */
function frameOf(message: Message, opcode: string): CallFrame {
  const { depth, to, caller, value, gasLimit, data } = message;
  const type = depth > 0 ? opcode : to ? 'CALL' : 'CREATE';
  const isDelegated = type === 'DELEGATECALL';
  return {
    type,
    // Delegated code runs in the name of the caller's caller: the frame shows the account that requested it.
    from: (isDelegated && to ? to : caller).toString(),
    to: to && message.codeAddress.toString(),
    value: type === 'STATICCALL' ? undefined : hex(value),
    gas: hex(gasLimit),
    gasUsed: '0x0',
    input: hexOf(data instanceof Uint8Array ? data : new Uint8Array()),
  };
}

function end(frame: CallFrame, { execResult, createdAddress }: EVMResult, last: LastStep): CallFrame {
  const { exceptionError, returnValue, executionGasUsed } = execResult;
  const failure = exceptionError && callFailure(exceptionError.error, returnValue);
  return {
    ...frame,
    to: frame.to ?? (failure ? undefined : createdAddress?.toString()),
    gasUsed: hex(executionGasUsed),
    output: returnValue.length > 0 ? hexOf(returnValue) : undefined,
    error: exceptionError && errorIn(frame, exceptionError.error, last),
    revertReason: failure?.message.split('execution reverted: ')[1],
  };
}

function errorIn({ type, to }: CallFrame, error: string, last: LastStep): string {
  if (isPrecompile(to) && error === 'value out of range') return 'invalid input length';
  return errorText(error, last, type.startsWith('CREATE'));
}

/** A contract that destroys itself, and sends its balance to another account. */
function selfDestruct({ address, stack, account }: InterpreterStep): CallFrame {
  const heir: Address = createAddressFromBigInt((stack.at(-1) ?? 0n) & ((1n << 160n) - 1n));
  return {
    type: 'SELFDESTRUCT',
    from: address.toString(),
    to: heir.toString(),
    value: hex(account.balance),
    gas: '0x0',
    gasUsed: '0x0',
    input: '0x',
  };
}

/** A call or a creation that does not begin, for want of coins or because it lies too deep. */
function refusedCall(step: InterpreterStep): CallFrame | undefined {
  const { opcode, stack, address, account, depth, memory } = step;
  const isCreation = opcode.name.startsWith('CREATE');
  if (!isCreation && !forwards.has(opcode.name)) return undefined;
  const value = isCreation ? stack.at(-1) : ofCoins.has(opcode.name) ? stack.at(-3) : undefined;
  const isPoor = value !== undefined && value > account.balance;
  if (!isPoor && depth < deepest) return undefined;
  const [offset, size] = (isCreation ? [-2, -3] : value === undefined ? [-3, -4] : [-4, -5]).map((at) => stack.at(at));
  const available = step.gasLeft - feeOf(step);
  const gas = isCreation ? available - available / 64n : forwardedGas(step) + (value ? stipend : 0n);
  const to = createAddressFromBigInt((stack.at(-2) ?? 0n) & ((1n << 160n) - 1n)).toString();
  return {
    type: opcode.name,
    from: address.toString(),
    ...(!isCreation && { to }),
    ...(value !== undefined && { value: hex(value) }),
    gas: hex(gas),
    gasUsed: '0x0',
    input: hexOf(bytesIn(memory, Number(offset), Number(size))),
    error: isPoor ? 'insufficient balance for transfer' : 'max call depth exceeded',
  };
}

function bytesIn(memory: Uint8Array, offset: number, size: number): Uint8Array {
  const bytes = new Uint8Array(Math.min(size, mostBytes));
  bytes.set(memory.subarray(offset, offset + bytes.length));
  return bytes;
}

const ofCoins = new Set(['CALL', 'CALLCODE']);
const stipend = 2300n;
/** Calls within calls at most. */
const deepest = 1024;
/** More input costs more gas than a block has. */
const mostBytes = 1 << 20;

/** A transaction to an account without code enters no machine. */
const plainFrame = (tx: TypedTransaction): CallFrame => {
  const from = tx.getSenderAddress();
  return {
    type: tx.to ? 'CALL' : 'CREATE',
    from: from.toString(),
    to: (tx.to ?? createContractAddress(from, tx.nonce)).toString(),
    value: hex(tx.value),
    gas: hex(tx.gasLimit),
    gasUsed: '0x0',
    input: hexOf(tx.data),
  };
};

const hex = (value: bigint): Hex => `0x${value.toString(16)}`;
