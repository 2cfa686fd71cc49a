import { AppError } from '../../../kit/errors.ts';
import { type RpcErrorBody, RpcError, rpcCodes } from '../../json-rpc/rpc-error.ts';
import { RestError } from '../rest/answer.ts';

/** The words of each code that the RPC refuses with. */
const messages: Readonly<Record<number, string>> = {
  [rpcCodes.parse]: 'Parse error. Invalid JSON',
  [rpcCodes.invalidRequest]: 'Invalid Request',
  [rpcCodes.methodNotFound]: 'Method not found',
  [rpcCodes.invalidParameters]: 'Invalid params',
  [rpcCodes.internal]: 'Internal error',
};

/** The error member of an answer, whose `data` are the words; an unexpected error keeps its detail to itself. */
export function errorRecord(caught: unknown): RpcErrorBody {
  const { code, message: data } = rpcErrorOf(caught);
  return { code, message: messages[code] ?? '', data };
}

function rpcErrorOf(caught: unknown): RpcError {
  if (caught instanceof RpcError) return caught;
  const isReported = caught instanceof RestError || caught instanceof AppError;
  return new RpcError(rpcCodes.internal, isReported ? caught.message : 'internal error');
}
