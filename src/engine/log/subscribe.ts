import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';
import { toAppError } from '../../kit/errors.ts';

/**
 * Subscribes with a callback that may fail: without this, its exception would silently end the client's reading of the
 * complete connection.
 *
 * `onFailure` receives the exception, and the client's errors of the subscription; without it the process emits a
 * warning.
 */
export function subscribe(
  nc: NatsConnection,
  subject: string,
  onMessage: (msg: Msg) => void,
  onFailure: (why: Error, msg: Msg) => void = warn,
): Subscription {
  return nc.subscribe(subject, {
    callback: (error, msg) => {
      if (error) return onFailure(error, msg);
      try {
        onMessage(msg);
      } catch (caught) {
        onFailure(toAppError(caught), msg);
      }
    },
  });
}

/** Calls a listener that may fail, where no caller waits for it. */
export function callSafely(listener: () => void): void {
  try {
    listener();
  } catch (caught) {
    warn(toAppError(caught));
  }
}

function warn(why: Error): void {
  process.emitWarning(why);
}
