import type { NatsConnection } from '@nats-io/transport-node';

/** Somebody asks the JSON-RPC: told by whoever serves it, heard by whoever seals, in whatever processes they run. */
export type Asked = Readonly<{
  /** Tells it, at most every few seconds. */
  tell: () => void;
  /** Milliseconds since it was told last, here or elsewhere; infinite before. */
  sinceMs: () => number;
  /** Calls with each time that it is told. */
  onAsked: (hear: () => void) => void;
  close: () => void;
}>;

const toldEachMs = 5_000;

/** Opens the subject of a network's JSON-RPC on the broker; what is told there is kept nowhere. */
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
