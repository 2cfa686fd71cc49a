import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';
import { toAppError } from '../../kit/errors.ts';

/**
 * Subscribes with a callback that may fail: what it throws would end the client's reading of the whole connection, in
 * silence.
 *
 * `onFailure` hears what it threw, and what the client says of the subscription; without it the process warns of it.
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

/** Calls a listener that may fail, where nobody waits for it. */
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
