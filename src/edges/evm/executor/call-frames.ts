import type { EVMResult, Message } from '@ethereumjs/evm';
import type { TypedTransaction } from '@ethereumjs/tx';
import { bytesToHex, createContractAddress } from '@ethereumjs/util';
import type { RunTxResult, VM } from '@ethereumjs/vm';
import type { ExecutedLog, Hex } from './outcome.ts';
import { callFailure } from './revert-reason.ts';

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
  logs?: readonly (ExecutedLog & Readonly<{ position: Hex }>)[] | undefined;
}>;

type Open = { message: Message; calls: CallFrame[] };

/** Finishes a recording with what came of the transaction. */
type Recorder = (result: RunTxResult, tx: TypedTransaction) => CallFrame;

/** Records the calls of the next transaction. */
export function followCalls(
  vm: VM,
  {
    onlyTopCall = false,
    withLog = false,
  }: Readonly<{ onlyTopCall?: boolean | undefined; withLog?: boolean | undefined }>,
): Recorder {
  const open: Open[] = [];
  let top: CallFrame | undefined;
  const enter = (message: Message, done?: () => void): void => {
    open.push({ message, calls: [] });
    done?.();
  };
  const leave = (result: EVMResult, done?: () => void): void => {
    const ended = open.pop();
    const frame = ended && frameOf(ended, result);
    if (frame) open.at(-1)?.calls.push(frame);
    if (open.length === 0) top = frame;
    done?.();
  };
  vm.evm.events?.on('beforeMessage', enter);
  vm.evm.events?.on('afterMessage', leave);
  return ({ totalGasSpent, receipt }, tx) => {
    vm.evm.events?.off('beforeMessage', enter);
    vm.evm.events?.off('afterMessage', leave);
    const frame = top ?? plainFrame(tx);
    const logs = receipt.logs.map(([address, topics, data]) => ({
      address: bytesToHex(address),
      topics: topics.map((topic) => bytesToHex(topic)),
      data: bytesToHex(data),
      position: '0x0' as const,
    }));
    return {
      ...frame,
      gas: hex(tx.gasLimit),
      gasUsed: hex(totalGasSpent),
      calls: onlyTopCall || frame.calls?.length === 0 ? undefined : frame.calls,
      logs: withLog && logs.length > 0 ? logs : undefined,
    };
  };
}

/** A transaction to somebody without code enters no machine. */
const plainFrame = (tx: TypedTransaction): CallFrame => {
  const from = tx.getSenderAddress();
  return {
    type: tx.to ? 'CALL' : 'CREATE',
    from: from.toString(),
    to: (tx.to ?? createContractAddress(from, tx.nonce)).toString(),
    value: hex(tx.value),
    gas: hex(tx.gasLimit),
    gasUsed: '0x0',
    input: bytesToHex(tx.data),
  };
};

function frameOf({ message, calls }: Open, { execResult, createdAddress }: EVMResult): CallFrame {
  const { exceptionError, returnValue, executionGasUsed } = execResult;
  const failure = exceptionError && callFailure(exceptionError.error, returnValue);
  const reason = failure?.message.split('execution reverted: ')[1];
  const type = typeOf(message);
  return {
    type,
    from: message.caller.toString(),
    to: (message.to ?? createdAddress)?.toString(),
    value: type === 'STATICCALL' || type === 'DELEGATECALL' ? undefined : hex(message.value),
    gas: hex(message.gasLimit),
    gasUsed: hex(executionGasUsed),
    input: bytesToHex(message.data instanceof Uint8Array ? message.data : new Uint8Array()),
    output: returnValue.length > 0 ? bytesToHex(returnValue) : undefined,
    error: exceptionError?.error === 'revert' ? 'execution reverted' : exceptionError?.error,
    revertReason: reason,
    calls: calls.length > 0 ? calls : undefined,
  };
}

function typeOf({ to, salt, delegatecall, isStatic, codeAddress }: Message): string {
  if (!to) return salt ? 'CREATE2' : 'CREATE';
  if (delegatecall) return 'DELEGATECALL';
  if (codeAddress.toString() !== to.toString()) return 'CALLCODE';
  return isStatic ? 'STATICCALL' : 'CALL';
}

const hex = (value: bigint): Hex => `0x${value.toString(16)}`;
