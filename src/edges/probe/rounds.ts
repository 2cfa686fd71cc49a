import { setInterval } from 'node:timers/promises';
import type { Logger } from '../log.ts';
import { followFleet, type WatchedLog } from './fleet.ts';
import { createProber, type ProberOptions } from './prober.ts';
import { createRecorder, type Reason } from './recorder.ts';
import { followRequests } from './requests.ts';

/** What makes one replica at a time do something: `run` lasts while the lease is held and has to end when its signal says so. */
export type Leases = Readonly<{
  hold: (
    name: string,
    signal: AbortSignal,
    run: (held: Readonly<{ revision: number; signal: AbortSignal }>) => Promise<void>,
  ) => Promise<void>;
}>;

/** What probing works with. */
export type ProbingOptions = Pick<ProberOptions, 'allowPrivate' | 'allowHostNames' | 'dial' | 'limits'> &
  Readonly<{ log: WatchedLog; leases: Leases; intervalMs: number; logger: Logger; signal: AbortSignal }>;

const maxSpreadMs = 2_000;

/**
 * Probes every listed SuperNode each interval, at once when it is first listed, and at once after a round of sync that
 * somebody asked for; until the signal ends it. One replica at a time does so, under the lease `probe`.
 *
 * @example await runProbing({ log, leases, intervalMs: 60_000, allowPrivate: false, allowHostNames: false, logger, signal })
 */
export function runProbing(options: ProbingOptions): Promise<void> {
  return options.leases.hold('probe', options.signal, ({ signal }) => probeWhileHeld({ ...options, signal }));
}

async function probeWhileHeld({
  log,
  logger,
  signal,
  intervalMs,
  ...how
}: Omit<ProbingOptions, 'leases'>): Promise<void> {
  const recorder = createRecorder(log, logger, signal);
  const servicesAskedAt = await servicesAskedAtOf(log);
  const probe = createProber({ ...how, recorder, logger, signal, servicesAskedAt });
  const probeNow = (nodes: ReadonlyMap<string, string>, reason: Reason = {}) =>
    probe({ nodes, reason, spreadMs: 0, isFresh: true });

  const fleet = await followFleet(log, logger, (added) => {
    const nodes = fleet.addresses();
    void probeNow(new Map(added.map((node) => [node, nodes.get(node) ?? ''])));
  });
  const unfollow = await followRequests(log, logger, async (reason) => {
    await fleet.refresh();
    await probeNow(fleet.addresses(), reason);
  });
  const round = async (spreadMs: number) => {
    const began = performance.now();
    const nodes = fleet.addresses();
    await probe({ nodes, reason: {}, spreadMs, isFresh: false });
    await recorder.settled();
    if (!signal.aborted)
      logger.debug({ nodes: nodes.size, ms: Math.round(performance.now() - began) }, 'probe round done');
  };
  try {
    void round(0);
    const spreadMs = Math.min(intervalMs / 10, maxSpreadMs);
    for await (const _ of setInterval(intervalMs, undefined, { signal })) void round(spreadMs);
  } catch (caught) {
    if (!signal.aborted) throw caught;
  } finally {
    fleet.close();
    unfollow();
  }
}

async function servicesAskedAtOf(log: WatchedLog): Promise<Map<string, string>> {
  const askedAt = new Map<string, string>();
  for (const [node, { fact }] of await log.lastOfAll('probe')) {
    if (fact.type !== 'ProbeSucceeded' && fact.type !== 'ProbeFailed') continue;
    const at = fact.data.known.servicesAskedAt;
    if (at !== undefined) askedAt.set(node, at);
  }
  return askedAt;
}
