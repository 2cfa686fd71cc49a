import { Kvm, KvWatchInclude } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import { until } from '../polling.ts';

/** What is seen of the leases of a network from beside. */
export type LeaseWatch = Readonly<{
  /** Resolves once the holder of a lease was seen to renew it. */
  seen: (lease: string) => Promise<void>;
  /**
   * How often the living holder of `clock` has renewed it between the last sign of life of the holder of `lease` and
   * the moment when another one took it: time as the processes have it, however slow the machine is.
   */
  renewalsUntilTaken: (lease: string, clock: string) => Promise<number>;
}>;

/** Watches every taking and renewal from now on, until the connection is closed. */
export async function watchLeases(nc: NatsConnection, network: string): Promise<LeaseWatch> {
  const bucket = await new Kvm(nc).open(`annals_${network}`);
  const watch = await bucket.watch({ include: KvWatchInclude.UpdatesOnly });
  const signs: { lease: string; holder: string }[] = [];
  const reading = (async () => {
    for await (const entry of watch)
      if (entry.operation === 'PUT') signs.push({ lease: entry.key, holder: entry.string() });
  })();
  reading.catch(() => undefined);
  const find = (lease: string): { last: number; taken: number } | undefined => {
    const first = signs.find((sign) => sign.lease === lease);
    const taken = signs.findIndex((sign) => sign.lease === lease && sign.holder !== first?.holder);
    const last = signs.findLastIndex((sign, at) => at < taken && sign.lease === lease);
    return taken === -1 ? undefined : { last, taken };
  };
  return {
    seen: async (lease) => {
      await until(`the holder of ${lease} renews it`, async () => signs.some((sign) => sign.lease === lease));
    },
    renewalsUntilTaken: async (lease, clock) => {
      const { last, taken } = await until(`another one takes ${lease}`, async () => find(lease));
      return signs.slice(last, taken).filter((sign) => sign.lease === clock).length;
    },
  };
}
