import { toAppError, type ErrorCode } from '../../kit/errors.ts';

/** Codes of JSON-RPC, and the one of whatever else went wrong with a request. */
export const rpcCodes = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParameters: -32602,
  internal: -32603,
  server: -32000,
  timeout: -32002,
  responseTooLarge: -32003,
  /** Of EIP-1474: a client has too much under way. */
  limit: -32005,
} as const;

/** Why a request has no result; `data` goes to the client as well. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
    this.data = data;
  }
}

/** An error as it is sent. */
export type RpcErrorBody = Readonly<{ code: number; message: string; data?: unknown }>;

/** Errors that are not a failure of the server in general. */
const codes: Readonly<Partial<Record<ErrorCode, number>>> = {
  INVALID_ARGUMENT: rpcCodes.invalidParameters,
  METHOD_NOT_ALLOWED: rpcCodes.methodNotFound,
  INTERNAL: rpcCodes.internal,
  TOO_MANY_REQUESTS: rpcCodes.limit,
};

/** The error that a client receives for any caught value; details of our own faults are not sent. */
export function errorBody(caught: unknown): RpcErrorBody {
  if (caught instanceof RpcError) {
    const { code, message, data } = caught;
    return { code, message, ...(data !== undefined && { data }) };
  }
  const { code, message } = toAppError(caught);
  if (code === 'DEADLINE') return { code: rpcCodes.server, message: 'execution aborted (timeout)' };
  return { code: codes[code] ?? rpcCodes.server, message: code === 'INTERNAL' ? 'internal error' : message };
}
