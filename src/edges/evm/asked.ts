import type { NatsConnection } from '@nats-io/transport-node';

/** Requests to the JSON-RPC: the process that serves it announces them, the process that seals receives them. */
export type Asked = Readonly<{
  /** Announces a request, at most every few seconds. */
  tell: () => void;
  /** Milliseconds since the last announcement, of this process or another; infinite before. */
  sinceMs: () => number;
  /** Calls back at each announcement. */
  onAsked: (hear: () => void) => void;
  close: () => void;
}>;

const toldEachMs = 5_000;

/** Opens the subject of a network's JSON-RPC on the broker; announcements there are not stored. */
export function openAsked(connection: NatsConnection, network: string): Asked {
  const subject = `annals.${network}.json-rpc.asked`;
  const hearers: (() => void)[] = [];
  let [toldAt, heardAt] = [-Infinity, -Infinity];
  const subscription = connection.subscribe(subject, {
    callback: () => {
      heardAt = performance.now();
      for (const hear of hearers) hear();
    },
  });
  return {
    tell: () => {
      if (performance.now() - toldAt < toldEachMs || connection.isClosed()) return;
      toldAt = performance.now();
      connection.publish(subject);
    },
    sinceMs: () => performance.now() - heardAt,
    onAsked: (hear) => void hearers.push(hear),
    close: () => subscription.unsubscribe(),
  };
}
