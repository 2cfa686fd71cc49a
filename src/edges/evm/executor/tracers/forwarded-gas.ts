import type { InterpreterStep } from '@ethereumjs/evm';

/** Instructions that name the gas which they forward. */
export const forwards: ReadonlySet<string> = new Set(['CALL', 'CALLCODE', 'DELEGATECALL', 'STATICCALL']);

/** What an instruction costs, without the gas that it forwards. */
export const feeOf = ({ opcode }: InterpreterStep): bigint => opcode.dynamicFee ?? BigInt(opcode.fee);

/** The gas that a call forwards: what it names, and all but one 64th of what is left at most (EIP-150). */
export function forwardedGas(step: InterpreterStep): bigint {
  const left = step.gasLeft - feeOf(step);
  const most = left - left / 64n;
  const named = step.stack.at(-1) ?? 0n;
  return named < most ? named : most;
}
