import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect';

/** How the library's errors begin when a request cannot be read. */
const unreadable = /^(parse binary|received compressed envelope)/;

/**
 * A gate for each call that turns INTERNAL into INVALID_ARGUMENT where a client sent what cannot be read.
 *
 * The library says INTERNAL of a message that is not protobuf, before any handler or interceptor of ours sees the call.
 * What it is about to answer shows first as the reason with which the call's signal aborts: there its code is set
 * right. The tests of every protocol hold the library to that order.
 */
export function blameClient({ signal }: HandlerContext): void {
  signal.addEventListener('abort', () => correctBlame(signal.reason));
}

/** Makes an error of the library that says INTERNAL of what a client sent an INVALID_ARGUMENT; leaves all others. */
export function correctBlame(caught: unknown): void {
  if (caught instanceof ConnectError && caught.code === Code.Internal && unreadable.test(caught.rawMessage))
    Object.assign(caught, { code: Code.InvalidArgument });
}

/** What Node says of a call whose client went away before its end, while it was read and while it was answered. */
const goneCodes: readonly unknown[] = ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'ECANCELED', 'EPIPE'];

/** Whether a call failed because its client went away, by what its connection said of it. */
export function isConnectionGone(caught: unknown): boolean {
  const error = caught instanceof ConnectError ? caught.cause : caught;
  return error instanceof Error && 'code' in error && goneCodes.includes(error.code);
}

/** Whether a call failed because its client went away while it was still sending or being answered. */
export function isClientGone(caught: unknown, { aborted }: AbortSignal): boolean {
  return aborted && isConnectionGone(caught);
}
