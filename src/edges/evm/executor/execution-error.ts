import { passes } from '../../../kit/errors.ts';
import { RpcError } from '../../json-rpc/rpc-error.ts';
import type { Hex } from './outcome.ts';

/** Codes with which an execution can fail towards a client of JSON-RPC. */
export const executionCodes = {
  /** A contract undid its call; `data` is what it returned. */
  reverted: 3,
  invalidParameters: -32602,
  internal: -32603,
  failed: -32000,
  /** In one call of a simulation. */
  machine: -32015,
} as const;

const tooLittleGas = /^INTRINSIC_GAS_TOO_LOW: tx gas limit (\d+) is lower than the minimum gas limit of (\d+)/;
/** How messages begin that name too little gas for a transaction in itself; wallets know these words. */
export const intrinsicGas = 'intrinsic gas too low';

/** The message of a library's error in the words of wallets, without its view of the transaction and its block. */
export const plainReason = (caught: unknown): string =>
  (caught instanceof Error ? caught.message : String(caught))
    .replace(/ \((?:vm hf|tx type)=.*$/s, '')
    .replace(tooLittleGas, `${intrinsicGas}: have $1, want $2`);

/**
 * What to throw where the library could not execute something: an ExecutionError, unless a read of the state failed in
 * a way that passes, for then neither the transaction is to blame nor its request.
 */
export function executionFailure(code: number, caught: unknown): unknown {
  return passes(caught) ? caught : new ExecutionError(code, plainReason(caught));
}

/** Why something could not be executed: a fault of the request, or of the contract that it calls. */
export class ExecutionError extends RpcError {
  declare readonly data: Hex | undefined;

  constructor(code: number, message: string, data?: Hex) {
    super(code, message, data);
    this.name = 'ExecutionError';
  }
}
