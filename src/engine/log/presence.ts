import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { refusedWith } from './breaks.ts';
import { createLeases } from './leases.ts';

/** A process among those of its group: each announces what it serves by a lease of its own. */
export type Presence = Readonly<{
  /** This process: `<what it serves>.<its id>`. */
  name: string;
  /** Waits until this process is announced; the returned signal aborts before others may consider it gone. */
  term: (signal: AbortSignal) => Promise<AbortSignal>;
  /** All that are announced now, as the broker's leader has it; fails while it does not answer. */
  present: () => Promise<ReadonlySet<string>>;
  /** Settles once this process is announced no more, after its signal has aborted. */
  ended: Promise<void>;
}>;

/** Options of a process's announcement. */
export type PresenceOptions = Readonly<{
  network: string;
  /** Of processes that know of one another. */
  group: string;
  /** Characters of a key: letters, digits, dashes. */
  serves: string;
  /** Of this process, where it has one already; in the form of a key. */
  id?: string;
  ttlMs?: number | undefined;
  signal: AbortSignal;
}>;

/** Outlives the election of a leader where a broker of several dies, which takes five seconds or so. */
const usualTtlMs = 6_000;

/** Announces this process until the signal aborts, anew whenever its lease was lost. */
export function announce(
  nc: NatsConnection,
  { network, group, serves, id = randomBytes(8).toString('hex'), ttlMs = usualTtlMs, signal }: PresenceOptions,
): Presence {
  const bucketName = bucketOf(group, network);
  const name = `${serves}.${id}`;
  const leases = createLeases(nc, network, { ttlMs, bucketName });
  let current = Promise.withResolvers<AbortSignal>();
  const ended = leases.hold(name, signal, async (lease) => {
    current.resolve(lease.signal);
    if (!lease.signal.aborted) await once(lease.signal, 'abort');
    current = Promise.withResolvers<AbortSignal>();
  });
  return {
    name,
    term: async (outer) => {
      outer.throwIfAborted();
      const { promise: left, reject } = Promise.withResolvers<never>();
      const leave = (): void => reject(outer.reason);
      outer.addEventListener('abort', leave, { once: true });
      try {
        return await Promise.race([current.promise, left]);
      } finally {
        outer.removeEventListener('abort', leave);
      }
    },
    present: async () => await presentIn(nc, { network, group }),
    ended,
  };
}

function bucketOf(group: string, network: string): string {
  return `annals-${group}_${network}`;
}

/** The processes of a group that are announced now, as the broker's leader has it; none where none ever was. */
export async function presentIn(
  nc: NatsConnection,
  { network, group }: Pick<PresenceOptions, 'network' | 'group'>,
): Promise<ReadonlySet<string>> {
  try {
    return await holdersIn(nc, bucketOf(group, network));
  } catch (caught) {
    if (refusedWith(caught, 'streamNotFound')) return new Set();
    throw caught;
  }
}

/** Names whose lease is in force; that of a process which released it is a marker for a while. */
async function holdersIn(nc: NatsConnection, bucketName: string): Promise<ReadonlySet<string>> {
  const [stream, prefix] = [`KV_${bucketName}`, `$KV.${bucketName}.`];
  const manager = await jetstreamManager(nc, { checkAPI: false });
  const { state } = await manager.streams.info(stream, { subjects_filter: `${prefix}>` });
  const names = await Promise.all(
    Object.keys(state.subjects ?? {}).map(async (subject) => {
      const last = await manager.streams.getMessage(stream, { last_by_subj: subject });
      return last && !last.header.has('KV-Operation') ? [subject.slice(prefix.length)] : [];
    }),
  );
  return new Set(names.flat());
}
