import type { NatsConnection } from '@nats-io/transport-node';

/** Requests to the JSON-RPC: the process that serves it announces them, the process that seals receives them. */
export type UsageSignal = Readonly<{
  /** Announces a request, at most every few seconds. */
  tell: () => void;
  /** Milliseconds since the last announcement, of this process or another; infinite before. */
  sinceMs: () => number;
  /** Calls back at each announcement. */
  onAsked: (receive: () => void) => void;
  close: () => void;
}>;

const reportedEachMs = 5_000;

/** Opens the subject of a network's JSON-RPC on the broker; announcements there are not stored. */
export function openRequested(connection: NatsConnection, network: string): UsageSignal {
  const subject = `annals.${network}.json-rpc.asked`;
  const hearers: (() => void)[] = [];
  let [reportedAt, receivedAt] = [-Infinity, -Infinity];
  const subscription = connection.subscribe(subject, {
    callback: () => {
      receivedAt = performance.now();
      for (const listener of hearers) listener();
    },
  });
  return {
    tell: () => {
      if (performance.now() - reportedAt < reportedEachMs || connection.isClosed()) return;
      reportedAt = performance.now();
      connection.publish(subject);
    },
    sinceMs: () => performance.now() - receivedAt,
    onAsked: (hear) => void hearers.push(hear),
    close: () => subscription.unsubscribe(),
  };
}
