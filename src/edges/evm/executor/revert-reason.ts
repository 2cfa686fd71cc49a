import { bytesToBigInt, bytesToHex } from '@ethereumjs/util';
import { executionCodes, ExecutionError } from './execution-error.ts';

const errorSelector = '0x08c379a0';
const panicSelector = '0x4e487b71';
const panics: Readonly<Record<number, string>> = {
  0x00: 'generic panic',
  0x01: 'assert(false)',
  0x11: 'arithmetic underflow or overflow',
  0x12: 'division or modulo by zero',
  0x21: 'enum overflow',
  0x22: 'invalid encoded storage byte array accessed',
  0x31: 'out-of-bounds array access; popping on an empty array',
  0x32: 'out-of-bounds access of an array or bytesN',
  0x41: 'out of memory',
  0x51: 'uninitialized function',
};

/**
 * The failure of a call in the form that clients expect: a revert with its reason and data, anything else by its name.
 */
export function callFailure(error: string, returned: Uint8Array): ExecutionError {
  if (error !== 'revert') return new ExecutionError(executionCodes.failed, error);
  const reason = reasonOf(returned);
  const message = reason === undefined ? 'execution reverted' : `execution reverted: ${reason}`;
  return new ExecutionError(executionCodes.reverted, message, bytesToHex(returned));
}

function reasonOf(returned: Uint8Array): string | undefined {
  const selector = bytesToHex(returned.subarray(0, 4));
  const number = (at: number): number => Number(bytesToBigInt(returned.subarray(at, at + 32)));
  if (selector === panicSelector && returned.length === 36) return panics[number(4)] ?? `unknown panic code`;
  if (selector !== errorSelector || returned.length < 68) return undefined;
  const length = number(36);
  return length > returned.length - 68 ? undefined : Buffer.from(returned.subarray(68, 68 + length)).toString();
}
