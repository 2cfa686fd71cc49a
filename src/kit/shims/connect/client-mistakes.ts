/** @connectrpc/connect 2.2.0 answers INTERNAL to requests that it cannot read. */
import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect';

/** The first words of the library's errors for a request that it cannot read. */
const unreadable = /^(parse binary|received compressed envelope)/;

/**
 * A gate for each call that turns INTERNAL into INVALID_ARGUMENT where a client sent what cannot be read.
 *
 * The library answers INTERNAL to a message that is not protobuf, before any handler or interceptor of ours sees the
 * call. Its error appears first as the reason with which the call's signal aborts: this gate corrects the code there.
 * The tests of every protocol verify that order.
 */
export function blameClient({ signal }: HandlerContext): void {
  signal.addEventListener('abort', () => correctBlame(signal.reason));
}

/** Turns the library's INTERNAL for unreadable input of a client into INVALID_ARGUMENT; leaves all other errors. */
export function correctBlame(caught: unknown): void {
  if (caught instanceof ConnectError && caught.code === Code.Internal && unreadable.test(caught.rawMessage))
    Object.assign(caught, { code: Code.InvalidArgument });
}

/**
 * Node's error codes for a call whose client disconnected before its end, while it was read or while it was answered.
 */
const goneCodes: readonly unknown[] = ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'ECANCELED', 'EPIPE'];

/** Returns whether a call failed because its client disconnected, judged by the error of its connection. */
export function isConnectionGone(caught: unknown): boolean {
  const error = caught instanceof ConnectError ? caught.cause : caught;
  return error instanceof Error && 'code' in error && goneCodes.includes(error.code);
}
