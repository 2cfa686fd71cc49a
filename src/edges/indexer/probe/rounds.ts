import { toAppError } from '../../../kit/errors.ts';
import type { Fact } from '../../../events/catalogue.ts';
import type { Logger } from '../../../kit/logger.ts';
import { repeat } from '../../../kit/repeat.ts';
import { type Leasing, whileHeld } from '../../../engine/log/leases.ts';
import { followFleet, type WatchedLog } from './fleet.ts';
import { createProber, type ProberOptions } from './prober.ts';
import { createRecorder, type ProbeReason } from './recorder.ts';

/** What probing works with. */
export type ProbingOptions = Pick<ProberOptions, 'allowPrivate' | 'allowHostNames' | 'dial' | 'limits'> &
  Readonly<{ log: WatchedLog; leases: Leasing; intervalMs: number; logger: Logger; signal: AbortSignal }>;

const maxSpreadMs = 2_000;
const retryMs = 1_000;

/**
 * Probes every listed SuperNode each interval, at once when it is first listed, and at once after a round of sync that
 * a caller requested; until the signal ends it. One replica at a time does so, under the lease `probe`.
 *
 * The next holder of the lease continues in the rhythm that the log shows: nodes see no storm where a process starts
 * again and again.
 *
 * @example
 * await runProbing({ log, leases, intervalMs: 60_000, allowPrivate: false, allowHostNames: false, logger, signal })
 */
export function runProbing(options: ProbingOptions): Promise<void> {
  return options.leases.hold('probe', options.signal, ({ signal }) =>
    keepProbing({ ...options, log: whileHeld(options.log, signal), signal }),
  );
}

type HeldOptions = Omit<ProbingOptions, 'leases'>;

async function keepProbing(options: HeldOptions): Promise<void> {
  const { logger: log, signal } = options;
  const isPassing = (caught: unknown): boolean => toAppError(caught).code === 'UNAVAILABLE';
  const waiting = { everyMs: 0, retryMs, isPassing, log, signal };
  await repeat('probing waits for the log', () => probeWhileHeld(options), waiting);
}

async function probeWhileHeld(options: HeldOptions): Promise<void> {
  const { log, logger, intervalMs, ...how } = options;
  const ended = new AbortController();
  const signal = AbortSignal.any([options.signal, ended.signal]);
  try {
    const recorder = createRecorder(log, logger, signal);
    const last = await lastProbes(log);
    const servicesRequestedAt = new Map([...last].flatMap(([node, { known }]) => entryOf(node, known.servicesAskedAt)));
    const everySeconds = Math.max(Math.round(intervalMs / 1000), 1);
    const probe = createProber({
      ...how,
      recorder,
      logger,
      signal,
      everySeconds,
      servicesAskedAt: servicesRequestedAt,
    });
    const probeNow = (nodes: ReadonlyMap<string, string>, reason: ProbeReason = {}) =>
      probe({ nodes, reason, spreadMs: 0, isFresh: true });
    const dueIn = waitsOf(last, intervalMs);
    const firstInMs = [...dueIn.values()].reduce((least, ms) => Math.min(least, ms), intervalMs);
    const onListed = (nodes: ReadonlyMap<string, string>) =>
      void probeNow(new Map([...nodes].filter(([node]) => !dueIn.has(node))));
    const fleet = await followFleet(log, { logger, signal, onListed });
    dueIn.clear();
    const onAnswered = async (reason: ProbeReason) => {
      await fleet.refresh();
      await probeNow(fleet.addresses(), reason);
    };
    await followRequests(log, { logger, signal, onAnswered });
    const spreadMs = Math.min(intervalMs / 10, maxSpreadMs);
    const sweep = async () => {
      await fleet.refresh();
      void probe({ nodes: fleet.addresses(), reason: {}, spreadMs, isFresh: false });
    };
    await repeat('a sweep failed', sweep, { everyMs: intervalMs, firstMs: firstInMs, isPassing: () => false, signal });
  } catch (caught) {
    if (!signal.aborted) throw caught;
  } finally {
    ended.abort();
  }
}

type Probed = Fact<'ProbeSucceeded' | 'ProbeFailed'>['data'];

async function lastProbes(log: WatchedLog): Promise<Map<string, Probed>> {
  const probes = new Map<string, Probed>();
  for (const [node, { fact }] of await log.lastOfAll('probe'))
    if (fact.type === 'ProbeSucceeded' || fact.type === 'ProbeFailed') probes.set(node, fact.data);
  return probes;
}

const entryOf = <T>(node: string, value: T | undefined): [string, T][] => (value === undefined ? [] : [[node, value]]);

/** Milliseconds until each node is due that was probed less than an interval ago; a time in the future is ignored. */
function waitsOf(last: ReadonlyMap<string, Probed>, intervalMs: number): Map<string, number> {
  const now = Date.now();
  const waits = [...last].map(([node, { at }]) => [node, Date.parse(at) + intervalMs - now] as const);
  return new Map(waits.filter(([, dueInMs]) => dueInMs > 0 && dueInMs <= intervalMs));
}

const source = 'supernodes';

/** `onAnswered` is called with answered requests, until the signal ends it. */
type RequestOptions = Readonly<{
  onAnswered: (reason: ProbeReason) => Promise<void>;
  logger: Logger;
  signal: AbortSignal;
}>;

/** Reports every completed round of SuperNodes that answers a request, until the signal ends it. */
async function followRequests(log: WatchedLog, { onAnswered, logger, signal }: RequestOptions): Promise<void> {
  let seen = 0;
  let wasPending = false;

  const check = async (): Promise<ProbeReason | undefined> => {
    const last = (await log.last('sync', [source])).get(source);
    if (!last || last.sequence <= seen) return undefined;
    const { fact, id, causation } = last;
    const isAnswer = fact.type === 'SyncRoundCompleted' && (wasPending || causation !== undefined);
    seen = last.sequence;
    wasPending = isPending(fact);
    return isAnswer ? { causation: id } : undefined;
  };
  const checkAndReport = async () => {
    try {
      const reason = await check();
      if (reason && !signal.aborted) await onAnswered(reason);
    } catch (caught) {
      logger.warn({ reason: String(caught) }, 'a request for probes could not be followed');
    }
  };

  const unwatch = log.watch(['sync'], (_, entity) => void (entity === source && checkAndReport()));
  signal.addEventListener('abort', unwatch, { once: true });
  await check();
}

function isPending({ type, data }: Fact): boolean {
  if (type === 'SyncRequested') return true;
  return (type === 'SyncRoundCompleted' || type === 'SyncRoundFailed') && data.known.request !== undefined;
}
