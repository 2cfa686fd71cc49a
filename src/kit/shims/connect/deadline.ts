/** @connectrpc/connect 2.2.0 aborts the signal of a call whose deadline passes, and ends nothing. */
import { Code, ConnectError } from '@connectrpc/connect';

const longestTimerMs = 2 ** 31 - 1;

/** What a call whose deadline has passed fails with: DEADLINE_EXCEEDED. */
export function deadlinePassed(): ConnectError {
  return new ConnectError('The deadline of the call has passed', Code.DeadlineExceeded);
}

/** Calls back with `deadlinePassed` after so many milliseconds, unless the timer is cleared before. */
export function startDeadline(leftMs: number, fail: (error: ConnectError) => void): NodeJS.Timeout {
  return setTimeout(() => fail(deadlinePassed()), Math.min(leftMs, longestTimerMs));
}
