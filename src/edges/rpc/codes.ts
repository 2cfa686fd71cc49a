import { Code, ConnectError } from '@connectrpc/connect';
import { AppError, type ErrorCode, toAppError } from '../../kit/errors.ts';

/** RPC code of every code of ours. */
export const codeOf = {
  INVALID_ARGUMENT: Code.InvalidArgument,
  INVALID_INSTANT: Code.InvalidArgument,
  NOT_YET: Code.OutOfRange,
  BEYOND_HEAD: Code.OutOfRange,
  FOREIGN_POSITION: Code.InvalidArgument,
  OTHER_INSTANT: Code.InvalidArgument,
  HEIGHT_UNKNOWN: Code.FailedPrecondition,
  OTHER_LOG: Code.FailedPrecondition,
  BEYOND_LOG: Code.FailedPrecondition,
  BEHIND: Code.Unavailable,
  FORGOTTEN: Code.NotFound,
  UNAUTHORIZED: Code.Unauthenticated,
  FORBIDDEN: Code.PermissionDenied,
  NOT_FOUND: Code.NotFound,
  METHOD_NOT_ALLOWED: Code.Unimplemented,
  CONFLICT: Code.Aborted,
  GONE: Code.NotFound,
  REQUEST_TIMEOUT: Code.DeadlineExceeded,
  PAYLOAD_TOO_LARGE: Code.ResourceExhausted,
  UNSUPPORTED_MEDIA_TYPE: Code.InvalidArgument,
  PRECONDITION_FAILED: Code.FailedPrecondition,
  RANGE_NOT_SATISFIABLE: Code.OutOfRange,
  INSUFFICIENT_STORAGE: Code.ResourceExhausted,
  SERVICE_UNAVAILABLE: Code.Unavailable,
  TOO_MANY_REQUESTS: Code.ResourceExhausted,
  UNAVAILABLE: Code.Unavailable,
  DEADLINE: Code.DeadlineExceeded,
  CANCELLED: Code.Canceled,
  INTERNAL: Code.Internal,
} as const satisfies Record<ErrorCode, Code>;

/**
 * Any caught value as the error that its caller receives; errors that have an RPC code already keep it.
 *
 * The message of an `INTERNAL` one is not sent: the code that catches the error logs it.
 */
export function toRpcError(caught: unknown): ConnectError {
  if (caught instanceof ConnectError) return caught;
  const error = toAppError(caught);
  const message = error.code === 'INTERNAL' ? 'Something went wrong on our side; try again later.' : error.message;
  return new ConnectError(message, codeOf[error.code], undefined, undefined, error);
}

/** Returns whether an error is a fault of ours that belongs in the log. */
export function isOurFault(caught: unknown): boolean {
  return caught instanceof ConnectError
    ? caught.code === Code.Internal || caught.code === Code.Unknown
    : !(caught instanceof AppError) || caught.code === 'INTERNAL';
}
