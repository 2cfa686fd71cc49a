import { hostname } from 'node:os';
import type { NatsConnection } from '@nats-io/transport-node';
import { announce, presentIn, type Presence } from '../../engine/log/presence.ts';

/** This process among those that work on operators' acts, as others see it. */
export type ActHolder = Readonly<{
  /** Waits until this process is announced, which it is from the first call on; returns its name. */
  announced: () => Promise<string>;
  /** Whether an act's holder is this process. */
  isOwn: (holder: string) => boolean;
  /** All that are announced now; fails while the broker does not answer. */
  present: () => Promise<ReadonlySet<string>>;
  close: () => Promise<void>;
}>;

const group = 'operators';

/**
 * A process that never works on an act is never announced: it costs the broker nothing. `ttlMs` is how long it counts
 * as present after the broker has last heard of it.
 */
export function createActHolder(
  nc: NatsConnection,
  network: string,
  { ttlMs }: Readonly<{ ttlMs?: number }> = {},
): ActHolder {
  const stop = new AbortController();
  const { signal } = stop;
  let own: Presence | undefined;
  return {
    announced: async () => {
      own ??= announce(nc, { network, group, serves: processName(), ttlMs, signal });
      await own.term(signal);
      return own.name;
    },
    isOwn: (holder) => holder === own?.name,
    present: async () => await presentIn(nc, { network, group }),
    close: async () => {
      stop.abort();
      await own?.ended.catch(() => undefined);
    },
  };
}

/** Host and process in the characters of a key. */
function processName(): string {
  return `${hostname().replace(/[^\w-]/g, '-')}-${process.pid}`;
}
