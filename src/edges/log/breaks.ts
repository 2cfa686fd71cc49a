import type { NatsConnection } from '@nats-io/transport-node';

type Listener = (why: string) => void;
const listeners = new WeakMap<NatsConnection, Set<Listener>>();

/**
 * Tells when a connection breaks, comes back or is closed; the client forgets what it had not sent by then, and
 * consumers may be gone.
 *
 * Gives back how to stop listening.
 */
export function onBreak(nc: NatsConnection, listener: Listener): () => void {
  const all = listeners.get(nc) ?? startListening(nc);
  all.add(listener);
  return () => all.delete(listener);
}

/**
 * Waits for an answer that a break of the connection would lose: then it fails at once, where the client would wait out
 * its timeout.
 */
export async function unlessBroken<T>(nc: NatsConnection, answer: Promise<T>): Promise<T> {
  const { promise: broken, reject } = Promise.withResolvers<never>();
  const stop = onBreak(nc, (why) => reject(new Error(why)));
  try {
    return await Promise.race([answer, broken]);
  } finally {
    stop();
  }
}

function startListening(nc: NatsConnection): Set<Listener> {
  const all = new Set<Listener>();
  listeners.set(nc, all);
  void tellBreaks(nc, all);
  return all;
}

async function tellBreaks(nc: NatsConnection, all: ReadonlySet<Listener>): Promise<void> {
  const tell = (why: string): void => {
    for (const listener of all) listener(why);
  };
  for await (const { type } of nc.status())
    if (type === 'disconnect' || type === 'reconnect') tell('the connection broke');
  tell('the connection was closed');
}
