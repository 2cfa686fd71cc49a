import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { KV } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import type { FactLog } from '../../commands/ports.ts';
import { wait } from '../../kit/wait.ts';
import { refusedWith } from './breaks.ts';
import { openBucket } from './bucket.ts';

/**
 * A lease in force: `revision` grows with every new holder; `signal` aborts when the lease is lost or no longer wanted.
 */
export type Lease = Readonly<{ revision: number; signal: AbortSignal }>;

/** Leadership among the processes of a network, one lease per name. */
export type Leases = Readonly<{
  /**
   * Waits until the lease is free, then runs `run`; after the loss of a lease it waits again and runs `run` again.
   *
   * Ends when `run` ends while the lease is held (with its error, if any), or when `signal` aborts and `run` has ended.
   * The lease is released at once then; that of a dead holder becomes free within two lease times.
   */
  hold: (name: string, signal: AbortSignal, run: (lease: Lease) => Promise<void>) => Promise<void>;
  /** The holder of a lease, as `<host>/<pid>/<random>`. */
  holder: (name: string) => Promise<string | undefined>;
  /** All leases that are held, by name; those of single transfers and handshakes are left out. */
  list: () => Promise<readonly HeldLease[]>;
}>;

/** A lease that a process holds, as `<host>/<pid>/<random>`; `renewedAt` is RFC 3339 by the broker's clock. */
export type HeldLease = Readonly<{ name: string; holder: string; renewedAt: string }>;

/** Leases of single transfers and handshakes: a name of each is known to its holder alone, or would stay for ever. */
const passing = /^(transfer|handshake)-/;

/** Returns whether a lease is of the program's own work, and not of a single transfer or handshake. */
export function isLasting(name: string): boolean {
  return !passing.test(name);
}

/**
 * `ttlMs`: how long a lease outlives its last renewal. `onChange` is called when one is requested, acquired, lost or
 * released.
 */
type LeaseOptions = Readonly<{
  ttlMs?: number;
  onChange?: (name: string, isHeld: boolean) => void;
  /** Bucket of its own, for leases that live longer or shorter than others. */
  bucketName?: string;
}>;

/** How long a lease outlives its last renewal, by default. */
export const leaseMs = 3000;

/** How often its holder renews a lease while it would last. */
export const renewalsPerLease = 4;

/** Leases in a key-value bucket whose entries vanish by age; the bucket is made when it is first needed. */
export function createLeases(nc: NatsConnection, network: string, options: LeaseOptions = {}): Leases {
  const { ttlMs = leaseMs, onChange = () => undefined, bucketName = `annals_${network}` } = options;
  const me = `${hostname()}/${process.pid}/${randomBytes(4).toString('hex')}`;
  let opened: KV | undefined;
  const bucket = async (): Promise<KV> => (opened ??= await openBucket(nc, network, bucketName, { ttl: ttlMs }));
  return {
    hold: async (name, signal, run) => {
      onChange(name, false);
      while (!signal.aborted) {
        const since = performance.now();
        const held = await take(bucket, name, me).catch((caught: unknown) => {
          if (isGone(caught)) opened = undefined;
        });
        if (held && !(await runWhileHeld({ ...held, name, me, ttlMs, since, onChange }, signal, run))) return;
        await wait((ttlMs / 8) * (1 + Math.random()), signal);
      }
    },
    holder: async (name) => {
      const entry = await (await bucket()).get(name);
      return entry?.operation === 'PUT' ? entry.string() : undefined;
    },
    list: async () => await listHeld(await bucket()),
  };
}

async function listHeld(kv: KV): Promise<HeldLease[]> {
  const names: string[] = [];
  for await (const name of await kv.keys()) if (isLasting(name)) names.push(name);
  const entries = await Promise.all(names.toSorted().map((name) => kv.get(name)));
  return entries.flatMap((entry) =>
    entry?.operation === 'PUT'
      ? [{ name: entry.key, holder: entry.string(), renewedAt: entry.created.toISOString() }]
      : [],
  );
}

type Held = Required<Omit<LeaseOptions, 'bucketName'>> &
  Readonly<{ kv: KV; revision: number; name: string; me: string; since: number }>;

/** Fails while another process holds the lease, and while the broker is away. */
async function take(bucket: () => Promise<KV>, name: string, me: string): Promise<Pick<Held, 'kv' | 'revision'>> {
  const kv = await bucket();
  return { kv, revision: await kv.create(name, me) };
}

/** Returns whether the lease was lost; then the outcome of `run` does not count, for it runs again. */
async function runWhileHeld(held: Held, outer: AbortSignal, run: (lease: Lease) => Promise<void>): Promise<boolean> {
  const lost = new AbortController();
  const ended = new AbortController();
  held.onChange(held.name, true);
  lost.signal.addEventListener('abort', () => held.onChange(held.name, false));
  const renewing = keepRenewing(held, lost, ended.signal);
  try {
    if (!outer.aborted) await run({ revision: held.revision, signal: AbortSignal.any([outer, lost.signal]) });
  } catch (caught) {
    const isAbort =
      outer.aborted && caught instanceof Error && (caught === outer.reason || caught.name === 'AbortError');
    if (!lost.signal.aborted && !isAbort) throw caught;
  } finally {
    ended.abort();
    const revision = await renewing;
    held.onChange(held.name, false);
    if (!lost.signal.aborted) await held.kv.delete(held.name, { previousSeq: revision }).catch(() => undefined);
  }
  return lost.signal.aborted;
}

/**
 * Renews until ended or lost, and returns the last revision; a lease is lost before the broker lets another process
 * have it.
 */
async function keepRenewing(
  { kv, name, me, ttlMs, since, ...held }: Held,
  lost: AbortController,
  ended: AbortSignal,
): Promise<number> {
  let revision = held.revision;
  const loseAt = (from: number): NodeJS.Timeout =>
    setTimeout(() => lost.abort(), Math.max(0, from + ttlMs * safeShare - performance.now()));
  let timer = loseAt(since);
  const stop = AbortSignal.any([ended, lost.signal]);
  for (;;) {
    await wait(ttlMs / renewalsPerLease, stop);
    if (stop.aborted) break;
    const startedAt = performance.now();
    const renewed = await renew(kv, name, me, { revision, timeoutMs: ttlMs / renewalsPerLease });
    if (renewed === 'lost') lost.abort();
    if (typeof renewed !== 'number' || stop.aborted) continue;
    revision = renewed;
    clearTimeout(timer);
    timer = loseAt(startedAt);
  }
  clearTimeout(timer);
  return revision;
}

const safeShare = 0.85;

/** The new revision; `again` when the broker did not answer. */
async function renew(
  kv: KV,
  name: string,
  me: string,
  { revision, timeoutMs }: { revision: number; timeoutMs: number },
): Promise<number | 'lost' | 'again'> {
  try {
    return await kv.update(name, me, revision, timeoutMs);
  } catch (caught) {
    if (!refusedWith(caught, 'wrongLastSequence')) return 'again';
  }
  // An earlier renewal whose answer was lost may have counted.
  const entry = await kv.get(name).catch(() => undefined);
  if (entry === undefined) return 'again';
  if (entry?.operation !== 'PUT' || entry.string() !== me) return 'lost';
  return kv.update(name, me, entry.revision, timeoutMs).catch(() => 'again' as const);
}

/** The bucket is gone, with all of the broker's data: it is made anew. */
function isGone(caught: unknown): boolean {
  const isNotFound = refusedWith(caught, 'streamNotFound');
  return isNotFound || (caught instanceof Error && /no responders|no stream/i.test(`${caught.name} ${caught.message}`));
}

/**
 * Leadership among the processes of a network: `run` has the name to itself until its signal ends, and has to end then.
 */
export type Leasing = Readonly<{
  hold: (
    name: string,
    signal: AbortSignal,
    run: (lease: Readonly<{ signal: AbortSignal }>) => Promise<void>,
  ) => Promise<void>;
}>;

/**
 * A log that accepts no append once its lease has ended.
 *
 * An append under way then is guarded by the sequence that it expects: it is refused where the next holder has written
 * since.
 */
export function whileHeld<L extends FactLog>(log: L, signal: AbortSignal): L {
  return {
    ...log,
    append: async (decisions, cause) => {
      signal.throwIfAborted();
      return await log.append(decisions, cause);
    },
  };
}
