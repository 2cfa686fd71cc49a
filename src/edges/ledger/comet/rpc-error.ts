import { AppError } from '../../../kit/errors.ts';
import { RestError } from '../rest/answer.ts';

/** Codes that the RPC refuses with, and the words of each. */
const messages = {
  [-32700]: 'Parse error. Invalid JSON',
  [-32600]: 'Invalid Request',
  [-32601]: 'Method not found',
  [-32602]: 'Invalid params',
  [-32603]: 'Internal error',
} as const;
/** One of those codes. */
export type RpcCode = keyof typeof messages;

/** A refusal of the CometBFT RPC; its message is what the answer carries as `data`. */
export class RpcError extends Error {
  readonly code: RpcCode;
  constructor(code: RpcCode, data: string) {
    super(data);
    this.name = 'RpcError';
    this.code = code;
  }
}

/** The error member of an answer; what nobody expected tells nothing of itself. */
export function errorRecord(caught: unknown): Readonly<{ code: RpcCode; message: string; data: string }> {
  const { code, message: data } = rpcErrorOf(caught);
  return { code, message: messages[code], data };
}

function rpcErrorOf(caught: unknown): RpcError {
  if (caught instanceof RpcError) return caught;
  const isTold = caught instanceof RestError || caught instanceof AppError;
  return new RpcError(-32603, isTold ? caught.message : 'internal error');
}
